// SPDX-License-Identifier: Apache-2.0
// A module with 64 Ki pointers, 512 KiB, and a small file beside them.
int cohost_module_v1(void);
extern int target;
int target = 1;
int* const pointers[1 << 16] = {[0 ...(1 << 16) - 1] = &target};
int cohost_module_v1(void) { return *pointers[target]; }
