// SPDX-License-Identifier: Apache-2.0
// A module with an address in its code that only the loader knows.
int cohost_module_v1(void);
int cohost_module_v1(void) { return 0; }
__asm__(".section .text.cohost_module_v1,\"ax\",@progbits\n.balign 8\n.quad cohost_module_v1\n");
