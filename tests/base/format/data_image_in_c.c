// SPDX-License-Identifier: Apache-2.0
#include "tests/base/format/data_image_in_c.h"

#include "base/format/data_image.h"

int cohost_test_first_byte_in_c(const void* bytes, size_t length, const char* key) {
  cohost_data_image image;
  cohost_data_record record;
  if (cohost_data_image_open(bytes, length, &image) != NULL) return -1;
  if (!cohost_data_image_find(&image, key, strlen(key), &record)) return 0;
  return record.value_length == 0 ? 0 : *(const char*)record.value;
}
