/* SPDX-License-Identifier: Apache-2.0 */
/* A megabyte of zeros that costs nothing until it is filled, and a page of pointers to relocate. */
#include <string.h>

#define SIZE (1 << 20)

void fill(int value);
const char* target(int index);

static char zeros[SIZE];
static char word[] = "word";
static char* const pointers[512] = {[0 ... 511] = word};

void fill(int value) { memset(zeros, value, SIZE); }
const char* target(int index) { return pointers[index & 511] + zeros[index & (SIZE - 1)]; }
