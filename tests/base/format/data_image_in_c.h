// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// First byte of the key's value as a plain C program finds it; 0: no such key or an empty value,
// -1: no image.
int cohost_test_first_byte_in_c(const void* bytes, size_t length, const char* key);

#ifdef __cplusplus
}
#endif
