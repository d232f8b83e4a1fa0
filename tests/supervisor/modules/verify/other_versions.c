// SPDX-License-Identifier: Apache-2.0
// A module of later versions of the interface, and with names that look like ours.
int cohost_module_v9(void);
int cohost_module_v12(void);
int cohost_module_v01(void);
int cohost_module_v1x(void);
int cohost_module_v9(void) { return 0; }
int cohost_module_v12(void) { return 0; }
int cohost_module_v01(void) { return 0; }
int cohost_module_v1x(void) { return 0; }
