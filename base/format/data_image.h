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
// Images are made by base/format/data_image_builder.h and checked in full when they enter the
// module store.
//
// Version 1. All numbers are little endian, all offsets count from the first byte of the file
// unless something else is said. Every part follows the one before it; what is rounded up is filled
// with zeros.
//
//   offset  size  field
//        0     8  magic: "COHOSTDI"
//        8     4  format version: 1
//       12     4  header size: 128
//       16     8  length of the whole file
//       24     8  n, number of records
//       32     8  offset of the fence keys: 128 + 16 b, b = number of blocks = n / 2^s rounded up
//       40     8  offset of the first block: end of the fence keys, rounded up to 8
//       48     4  s: a block is 2^s records, the last one what is left; at most 12
//       52    12  reserved, 0
//       64    32  SHA-256 of the whole file, computed with these 32 bytes as zeros
//       96    32  name of the image for people, UTF-8, padded with zero bytes
//      128  16 b  fences: per block
//                    0  8  offset of the block, a multiple of 8
//                    8  8  offset of the end of the fence key, which begins where the one before
//                          it ends
//             ..  fence keys: of the first block none (0 bytes), of every other one the shortest
//             prefix of its first key that is greater than the last key of the block before
//             ..  blocks, m records each (m = 2^s, in the last one n - 2^s (b - 1))
//                    0  16 m  entries: per record
//                                0  8  offset of the value, a multiple of 8
//                                8  4  end of the key, counted from the first byte of the block;
//                                      it begins where the key before it ends, the first one
//                                      after the entries
//                               12  4  length of the value
//                         ..  keys, at most 65535 bytes each, then zeros up to a multiple of 8
//                         ..  values, each padded with zeros to a multiple of 8
//
// Records are sorted by key (bytes compared as unsigned numbers, a shorter key before a longer one
// that begins with it) and keys are unique. A mapped file begins on a page, so a value begins on 8
// bytes and may hold an array of numbers. Several tables in one image are key prefixes ("oui/").
//
// Why blocks: a page fault maps not one page but the 64 KiB around it (since Linux 6.18 all of the
// page cache's folio, where that is larger), and all of it counts as the process's memory. A search
// over one index of all records faults in a dozen such windows. Here it reads the fences, which lie
// together, and then one block. The builder chooses s so that a block is about 16 KiB: a file of
// 20 MB has some 1,300 to 2,000 fences, and a look-up touches two or three windows. Any other s is
// as valid.
//
// Torn and hostile files: `open` looks only at the header (O(1)) and refuses a file whose magic,
// version, header size, length (a longer file is as wrong as a shorter one) or table offsets do not
// hold. Checksum, order, fences and padding are the store's to check, once, before a file gets its
// name there; a reader does not repeat that. It still checks the bounds of every fence and record
// that it touches: one that leaves the file is answered as absent, and wrong order can only make a
// search miss. What no reader can survive is a file cut after it was mapped (SIGBUS); files of the
// store never change.

#define COHOST_DATA_IMAGE_MAGIC "COHOSTDI"
#define COHOST_DATA_IMAGE_VERSION 1u
#define COHOST_DATA_IMAGE_HEADER_SIZE 128u
#define COHOST_DATA_IMAGE_FENCE_SIZE 16u
#define COHOST_DATA_IMAGE_ENTRY_SIZE 16u
#define COHOST_DATA_IMAGE_MAX_KEY 65535u
// With the longest keys, ends of keys in a block still fit their 32 bits.
#define COHOST_DATA_IMAGE_MAX_SHIFT 12u

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
  uint32_t shift;  // a block is 2^shift records
} cohost_data_image;

// Points into the image; neither is terminated by a zero byte.
typedef struct cohost_data_record {
  const char* key;
  size_t key_length;
  const void* value;
  size_t value_length;
} cohost_data_record;

// A block whose entries lie inside of the image. The reader's own.
typedef struct cohost_data_block {
  const unsigned char* bytes;
  uint64_t room;  // from the first byte of the block to the end of the image
  uint32_t count;
} cohost_data_block;

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

static inline uint64_t cohost_data_image_blocks(uint64_t count, uint32_t shift) {
  return count == 0 ? 0 : ((count - 1) >> shift) + 1;
}

// NULL when `bytes` is an image that can be read, otherwise what is wrong with it (a constant);
// then `image` has no records.
static inline const char* cohost_data_image_open(const void* bytes, size_t length,
                                                 cohost_data_image* image) {
  const unsigned char* at = (const unsigned char*)bytes;
  uint64_t count;
  uint64_t keys;
  uint64_t blocks;
  uint32_t shift;
  memset(image, 0, sizeof *image);
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
  keys = cohost_data_image_u64(at + 32);
  blocks = cohost_data_image_u64(at + 40);
  shift = cohost_data_image_u32(at + 48);
  if (shift > COHOST_DATA_IMAGE_MAX_SHIFT) return "data image with too large blocks";
  if (keys != COHOST_DATA_IMAGE_HEADER_SIZE +
                  cohost_data_image_blocks(count, shift) * COHOST_DATA_IMAGE_FENCE_SIZE ||
      blocks < keys || blocks > length || blocks % 8 != 0 ||
      count > (length - blocks) / COHOST_DATA_IMAGE_ENTRY_SIZE) {
    return "data image with wrong table offsets";
  }
  image->bytes = at;
  image->length = length;
  image->count = count;
  image->shift = shift;
  return NULL;
}

// 0: the entries leave the image. `number` is less than the number of blocks.
static inline int cohost_data_image_block(const cohost_data_image* image, uint64_t number,
                                          cohost_data_block* block) {
  const uint64_t offset = cohost_data_image_u64(image->bytes + COHOST_DATA_IMAGE_HEADER_SIZE +
                                                number * COHOST_DATA_IMAGE_FENCE_SIZE);
  const uint64_t left = image->count - (number << image->shift);
  const uint32_t full = (uint32_t)1 << image->shift;
  if (offset > image->length) return 0;
  block->bytes = image->bytes + offset;
  block->room = image->length - offset;
  block->count = left < full ? (uint32_t)left : full;
  return block->count * COHOST_DATA_IMAGE_ENTRY_SIZE <= block->room;
}

// The record of that number in the block, less than its count. 0: it leaves the image.
static inline int cohost_data_image_record(const cohost_data_image* image,
                                           const cohost_data_block* block, uint32_t number,
                                           cohost_data_record* record) {
  const unsigned char* entry = block->bytes + number * COHOST_DATA_IMAGE_ENTRY_SIZE;
  const uint64_t value = cohost_data_image_u64(entry);
  const uint32_t key_end = cohost_data_image_u32(entry + 8);
  const uint32_t value_length = cohost_data_image_u32(entry + 12);
  const uint32_t key = number == 0
                           ? block->count * COHOST_DATA_IMAGE_ENTRY_SIZE
                           : cohost_data_image_u32(entry + 8 - COHOST_DATA_IMAGE_ENTRY_SIZE);
  if (key > key_end || key_end > block->room) return 0;
  if (value > image->length || value_length > image->length - value) return 0;
  record->key = (const char*)block->bytes + key;
  record->key_length = key_end - key;
  record->value = image->bytes + value;
  record->value_length = value_length;
  return 1;
}

// The record of that number (0 to count - 1, in the order of keys). 0: there is none, or it leaves
// the image. O(1).
static inline int cohost_data_image_at(const cohost_data_image* image, uint64_t number,
                                       cohost_data_record* record) {
  const uint32_t in_block = (uint32_t)number & (((uint32_t)1 << image->shift) - 1);
  cohost_data_block block;
  return number < image->count && cohost_data_image_block(image, number >> image->shift, &block) &&
         cohost_data_image_record(image, &block, in_block, record);
}

// The order of keys in an image: negative, 0 or positive.
static inline int cohost_data_image_compare(const char* a, size_t a_length, const char* b,
                                            size_t b_length) {
  const size_t shorter = a_length < b_length ? a_length : b_length;
  const int order = shorter == 0 ? 0 : memcmp(a, b, shorter);
  if (order != 0) return order;
  return a_length < b_length ? -1 : a_length > b_length;
}

// The order of a key and what is searched, which is a key (`whole`) or a prefix: one that begins
// with the prefix equals it.
static inline int cohost_data_image_order(const char* key, size_t key_length, const char* text,
                                          size_t text_length, int whole) {
  if (!whole && key_length > text_length) key_length = text_length;
  return cohost_data_image_compare(key, key_length, text, text_length);
}

// Number of the last block whose fence key is not greater than the text: what is searched is a
// record of this block or the first of the next. 0: a fence leaves the image. There are blocks.
static inline int cohost_data_image_fence(const cohost_data_image* image, const char* text,
                                          size_t text_length, int whole, uint64_t* number) {
  uint64_t low = 1;  // the first block's key is empty
  uint64_t high = cohost_data_image_blocks(image->count, image->shift);
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const unsigned char* end =
        image->bytes + COHOST_DATA_IMAGE_HEADER_SIZE + middle * COHOST_DATA_IMAGE_FENCE_SIZE + 8;
    const uint64_t key = cohost_data_image_u64(end - COHOST_DATA_IMAGE_FENCE_SIZE);
    const uint64_t key_end = cohost_data_image_u64(end);
    if (key > key_end || key_end > image->length) return 0;
    if (cohost_data_image_order((const char*)image->bytes + key, (size_t)(key_end - key), text,
                                text_length, whole) <= 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *number = low - 1;
  return 1;
}

// Number of the first record that is not less than the key (`whole`), or of the first one after
// all that are less than the prefix or begin with it. 0: the search met something that leaves the
// image. O(log n).
static inline int cohost_data_image_search(const cohost_data_image* image, const char* text,
                                           size_t text_length, int whole, uint64_t* number) {
  uint64_t in_block = 0;
  uint32_t low = 0;
  uint32_t high;
  cohost_data_block block;
  *number = 0;
  if (image->count == 0) return 1;
  if (!cohost_data_image_fence(image, text, text_length, whole, &in_block) ||
      !cohost_data_image_block(image, in_block, &block)) {
    return 0;
  }
  high = block.count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    cohost_data_record record;
    int order;
    if (!cohost_data_image_record(image, &block, middle, &record)) return 0;
    order = cohost_data_image_order(record.key, record.key_length, text, text_length, whole);
    if (order < 0 || (order == 0 && !whole)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *number = (in_block << image->shift) + low;
  return 1;
}

// Number of the first record whose key is not less than `key`; count when there is none. O(log n).
static inline uint64_t cohost_data_image_lower_bound(const cohost_data_image* image,
                                                     const char* key, size_t key_length) {
  uint64_t number;
  return cohost_data_image_search(image, key, key_length, 1, &number) ? number : image->count;
}

// The record of exactly this key. 0: there is none. O(log n).
static inline int cohost_data_image_find(const cohost_data_image* image, const char* key,
                                         size_t key_length, cohost_data_record* record) {
  return cohost_data_image_at(image, cohost_data_image_lower_bound(image, key, key_length),
                              record) &&
         record->key_length == key_length &&
         cohost_data_image_compare(record->key, record->key_length, key, key_length) == 0;
}

// Number of the first record at or after `from` whose key does not begin with `prefix`, where
// `from` is lower_bound(prefix) or a later one with the prefix: records lower_bound(prefix) up to
// it are those with the prefix. O(log n).
static inline uint64_t cohost_data_image_prefix_end(const cohost_data_image* image, uint64_t from,
                                                    const char* prefix, size_t prefix_length) {
  uint64_t number;
  return cohost_data_image_search(image, prefix, prefix_length, 0, &number) && number > from
             ? number
             : from;
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
  DataImage() : image_{nullptr, 0, 0, 0} {}

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
