// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#include <optional>
#include <string_view>
#endif

// A data image: one read-only file of sorted records (key -> bytes) that services of all workers
// map once and search where it lies, without parsing or copying. This header is the whole reader;
// it needs nothing but the C library and reads as C99 and as C++17 (class cohost::DataImage below).
// Images are made by base/data_image_builder.h and checked in full when they enter the module
// store.
//
// Version 1. All numbers are little endian, all offsets count from the first byte of the file.
//
//   offset  size  field
//        0     8  magic: "COHOSTDI"
//        8     4  format version: 1
//       12     4  header size: 128
//       16     8  length of the whole file
//       24     8  n, number of records
//       32     8  offset of the index: 128
//       40     8  offset of the keys: 128 + 24 n
//       48     8  offset of the values: end of the keys, rounded up to 8
//       56     8  reserved, 0
//       64    32  SHA-256 of the whole file, computed with these 32 bytes as zeros
//       96    32  name of the image for people, UTF-8, padded with zero bytes
//      128  24 n  index: per record
//                    0  8  offset of the key
//                    8  8  offset of the value, a multiple of 8
//                   16  4  length of the key, at most 65535
//                   20  4  length of the value
//             ..  keys, one after the other in the order of the index, then zeros up to a multiple
//             of 8
//             ..  values in the order of the index, each padded with zeros to a multiple of 8
//
// Records are sorted by key (bytes compared as unsigned numbers, a shorter key before a longer one
// that begins with it) and keys are unique. A mapped file begins on a page, so a value begins on 8
// bytes and may hold an array of numbers. Several tables in one image are key prefixes ("oui/").
//
// Torn and hostile files: `open` looks only at the header (O(1)) and refuses a file whose magic,
// version, header size, length (a longer file is as wrong as a shorter one) or table offsets do not
// hold. Checksum, order and padding are the store's to check, once, before a file gets its name
// there; a reader does not repeat that. It still checks the bounds of every record that it touches:
// one that leaves the file is answered as absent, and wrong order can only make a search miss. What
// no reader can survive is a file cut after it was mapped (SIGBUS); files of the store never
// change.

#define COHOST_DATA_IMAGE_MAGIC "COHOSTDI"
#define COHOST_DATA_IMAGE_VERSION 1u
#define COHOST_DATA_IMAGE_HEADER_SIZE 128u
#define COHOST_DATA_IMAGE_ENTRY_SIZE 24u
#define COHOST_DATA_IMAGE_MAX_KEY 65535u

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "data images are read in place and are little endian"
#endif

#ifdef __cplusplus
extern "C" {
#endif

// An opened image: a view of bytes that somebody else keeps mapped. Copy it freely.
typedef struct cohost_data_image {
  const unsigned char* bytes;
  uint64_t length;
  uint64_t count;
} cohost_data_image;

// Points into the image; neither is terminated by a zero byte.
typedef struct cohost_data_record {
  const char* key;
  size_t key_length;
  const void* value;
  size_t value_length;
} cohost_data_record;

static inline uint64_t cohost_data_image_u64(const unsigned char* at) {
  uint64_t number;
  memcpy(&number, at, sizeof number);
  return number;
}

static inline uint32_t cohost_data_image_u32(const unsigned char* at) {
  uint32_t number;
  memcpy(&number, at, sizeof number);
  return number;
}

// NULL when `bytes` is an image that can be read, otherwise what is wrong with it (a constant);
// then `image` has no records.
static inline const char* cohost_data_image_open(const void* bytes, size_t length,
                                                 cohost_data_image* image) {
  const unsigned char* at = (const unsigned char*)bytes;
  uint64_t count;
  uint64_t keys;
  uint64_t values;
  image->bytes = NULL;
  image->length = 0;
  image->count = 0;
  if (length < COHOST_DATA_IMAGE_HEADER_SIZE) return "shorter than a data image's header";
  if (memcmp(at, COHOST_DATA_IMAGE_MAGIC, 8) != 0) return "not a data image";
  if (cohost_data_image_u32(at + 8) != COHOST_DATA_IMAGE_VERSION) {
    return "data image of another format version";
  }
  if (cohost_data_image_u32(at + 12) != COHOST_DATA_IMAGE_HEADER_SIZE) {
    return "data image with a wrong header size";
  }
  if (cohost_data_image_u64(at + 16) != length) return "data image with a wrong length";
  count = cohost_data_image_u64(at + 24);
  if (count > (length - COHOST_DATA_IMAGE_HEADER_SIZE) / COHOST_DATA_IMAGE_ENTRY_SIZE) {
    return "data image with more records than bytes";
  }
  keys = cohost_data_image_u64(at + 40);
  values = cohost_data_image_u64(at + 48);
  if (cohost_data_image_u64(at + 32) != COHOST_DATA_IMAGE_HEADER_SIZE ||
      keys != COHOST_DATA_IMAGE_HEADER_SIZE + count * COHOST_DATA_IMAGE_ENTRY_SIZE ||
      values < keys || values > length || values % 8 != 0) {
    return "data image with wrong table offsets";
  }
  image->bytes = at;
  image->length = length;
  image->count = count;
  return NULL;
}

// The record of that number (0 to count - 1, in the order of keys). 0: there is none, or it leaves
// the image.
static inline int cohost_data_image_at(const cohost_data_image* image, uint64_t number,
                                       cohost_data_record* record) {
  const unsigned char* entry;
  uint64_t key;
  uint64_t value;
  uint32_t key_length;
  uint32_t value_length;
  if (number >= image->count) return 0;
  entry = image->bytes + COHOST_DATA_IMAGE_HEADER_SIZE + number * COHOST_DATA_IMAGE_ENTRY_SIZE;
  key = cohost_data_image_u64(entry);
  value = cohost_data_image_u64(entry + 8);
  key_length = cohost_data_image_u32(entry + 16);
  value_length = cohost_data_image_u32(entry + 20);
  if (key > image->length || key_length > image->length - key) return 0;
  if (value > image->length || value_length > image->length - value) return 0;
  record->key = (const char*)image->bytes + key;
  record->key_length = key_length;
  record->value = image->bytes + value;
  record->value_length = value_length;
  return 1;
}

// The order of keys in an image: negative, 0 or positive.
static inline int cohost_data_image_compare(const char* a, size_t a_length, const char* b,
                                            size_t b_length) {
  const size_t shorter = a_length < b_length ? a_length : b_length;
  const int order = shorter == 0 ? 0 : memcmp(a, b, shorter);
  if (order != 0) return order;
  return a_length < b_length ? -1 : a_length > b_length;
}

// Number of the first record whose key is not less than `key`; count when there is none. O(log n).
static inline uint64_t cohost_data_image_lower_bound(const cohost_data_image* image,
                                                     const char* key, size_t key_length) {
  uint64_t low = 0;
  uint64_t high = image->count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    cohost_data_record record;
    if (!cohost_data_image_at(image, middle, &record)) return image->count;
    if (cohost_data_image_compare(record.key, record.key_length, key, key_length) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The record of exactly this key. 0: there is none. O(log n).
static inline int cohost_data_image_find(const cohost_data_image* image, const char* key,
                                         size_t key_length, cohost_data_record* record) {
  return cohost_data_image_at(image, cohost_data_image_lower_bound(image, key, key_length),
                              record) &&
         record->key_length == key_length &&
         cohost_data_image_compare(record->key, record->key_length, key, key_length) == 0;
}

// Number of the first record at or after `from` whose key does not begin with `prefix`: records
// lower_bound(prefix) up to it are those with the prefix. O(log n).
static inline uint64_t cohost_data_image_prefix_end(const cohost_data_image* image, uint64_t from,
                                                    const char* prefix, size_t prefix_length) {
  uint64_t low = from;
  uint64_t high = image->count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    cohost_data_record record;
    if (!cohost_data_image_at(image, middle, &record)) return from;
    if (record.key_length >= prefix_length &&
        (prefix_length == 0 || memcmp(record.key, prefix, prefix_length) == 0)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

#ifdef __cplusplus
}  // extern "C"

namespace cohost {

// The reader above with standard types. Immutable, thread-safe; a view that costs nothing to copy.
// Whoever mapped the bytes keeps them mapped for as long as any DataImage, Record or text of it is
// in use.
class DataImage {
 public:
  struct Record {
    std::string_view key;
    std::string_view value;
  };
  // Numbers of records, from `begin` up to `end`.
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t size() const { return end - begin; }
  };

  // An image without records.
  DataImage() : image_{nullptr, 0, 0} {}

  // Nothing when the bytes are no image that can be read; then `problem`, unless null, points to a
  // constant that says why.
  static std::optional<DataImage> Open(std::string_view bytes, const char** problem = nullptr) {
    DataImage image;
    const char* wrong = cohost_data_image_open(bytes.data(), bytes.size(), &image.image_);
    if (problem != nullptr) *problem = wrong;
    if (wrong != nullptr) return std::nullopt;
    return image;
  }

  uint64_t size() const { return image_.count; }
  bool empty() const { return image_.count == 0; }
  std::string_view name() const {
    if (image_.bytes == nullptr) return {};
    const char* name = reinterpret_cast<const char*>(image_.bytes) + 96;
    return {name, ::strnlen(name, 32)};
  }

  std::optional<Record> At(uint64_t number) const {
    cohost_data_record record;
    if (cohost_data_image_at(&image_, number, &record) == 0) return std::nullopt;
    return View(record);
  }
  std::optional<std::string_view> Find(std::string_view key) const {
    cohost_data_record record;
    if (cohost_data_image_find(&image_, key.data(), key.size(), &record) == 0) return std::nullopt;
    return View(record).value;
  }
  uint64_t LowerBound(std::string_view key) const {
    return cohost_data_image_lower_bound(&image_, key.data(), key.size());
  }
  // All records whose keys begin with `prefix`.
  Range WithPrefix(std::string_view prefix) const {
    const uint64_t begin = LowerBound(prefix);
    return {begin, cohost_data_image_prefix_end(&image_, begin, prefix.data(), prefix.size())};
  }

 private:
  static Record View(const cohost_data_record& record) {
    return {{record.key, record.key_length},
            {static_cast<const char*>(record.value), record.value_length}};
  }

  cohost_data_image image_;
};

}  // namespace cohost
#endif
