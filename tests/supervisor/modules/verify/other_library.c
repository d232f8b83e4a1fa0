// SPDX-License-Identifier: Apache-2.0
// A shared object that is no module: the entry point is only used, not defined.
int cohost_module_v1(void);
int other(void);
int other(void) { return cohost_module_v1(); }
