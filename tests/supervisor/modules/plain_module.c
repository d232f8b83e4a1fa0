// SPDX-License-Identifier: Apache-2.0
// A shared object that looks like a module from outside. Only the store reads it.
int cohost_module_v1(void);
int cohost_module_v1(void) { return 0; }
