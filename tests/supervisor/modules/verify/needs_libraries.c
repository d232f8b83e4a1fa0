// SPDX-License-Identifier: Apache-2.0
// A module that needs the C library. Its RUNPATH is long enough to be replaced by another one.
#include <stdio.h>

int cohost_module_v1(void);
int cohost_module_v1(void) { return puts("module"); }
