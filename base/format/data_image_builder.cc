// SPDX-License-Identifier: Apache-2.0
#include "base/format/data_image_builder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/format/data_image.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"

namespace cohost {

namespace {

constexpr size_t kHeaderSize = COHOST_DATA_IMAGE_HEADER_SIZE;
constexpr size_t kFenceSize = COHOST_DATA_IMAGE_FENCE_SIZE;
constexpr size_t kEntrySize = COHOST_DATA_IMAGE_ENTRY_SIZE;
constexpr size_t kReservedOffset = 52;
constexpr size_t kReservedSize = 12;
constexpr size_t kDigestOffset = 64;
constexpr size_t kNameOffset = 96;
constexpr size_t kNameSize = 32;
// A quarter of what one page fault maps: most blocks lie in one such window, and the fences of 20
// MB do too.
constexpr uint64_t kBlockSize = 16 * 1024;
// Holds the longest key and the entries of the largest block, and is few enough reads for an image
// of many MiB.
constexpr size_t kWindow = 128 * 1024;

constexpr uint64_t AlignedTo8(uint64_t offset) { return (offset + 7) & ~uint64_t{7}; }

// The shortest prefix of `key` that is greater than `previous`, which is less than `key`.
std::string_view FenceKey(std::string_view previous, std::string_view key) {
  const size_t shorter = std::min(previous.size(), key.size());
  const auto differ = std::mismatch(key.begin(), key.begin() + shorter, previous.begin());
  return key.substr(0, static_cast<size_t>(differ.first - key.begin()) + 1);
}

template <typename Number>
void Put(std::string& file, size_t offset, Number number) {
  std::memcpy(file.data() + offset, &number, sizeof number);
}

using Record = std::pair<std::string, std::string>;
using SortedRecords = std::vector<const Record*>;

absl::StatusOr<SortedRecords> Sort(const std::vector<Record>& records) {
  SortedRecords sorted;
  sorted.reserve(records.size());
  for (const Record& record : records) {
    if (record.first.size() > COHOST_DATA_IMAGE_MAX_KEY ||
        record.second.size() > std::numeric_limits<uint32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("record '", record.first.substr(0, 40), "' is too long"));
    }
    sorted.push_back(&record);
  }
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->first < b->first; });
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end(),
                                        [](auto* a, auto* b) { return a->first == b->first; });
  if (twice != sorted.end()) {
    return absl::AlreadyExistsError(absl::StrCat("two records '", (*twice)->first, "'"));
  }
  return sorted;
}

// Lays records out as a file, all but its name and checksum. The records outlive it.
class ImageLayout {
 public:
  explicit ImageLayout(const SortedRecords& records) : records_(records) {
    uint64_t bytes = 0;
    for (const Record* record : records_) {
      bytes += kEntrySize + record->first.size() + AlignedTo8(record->second.size());
    }
    const uint64_t average = records_.empty() ? kBlockSize : bytes / records_.size();
    while (shift_ < COHOST_DATA_IMAGE_MAX_SHIFT && average << (shift_ + 1) <= kBlockSize) ++shift_;
    blocks_ = cohost_data_image_blocks(records_.size(), shift_);
    fence_keys_ = kHeaderSize + blocks_ * kFenceSize;
    first_block_ = fence_keys_;
    for (uint64_t block = 0; block < blocks_; ++block) first_block_ += KeyOfFence(block).size();
    first_block_ = AlignedTo8(first_block_);
    length_ = first_block_;
    for (uint64_t block = 0; block < blocks_; ++block) length_ = EndOfBlock(block, length_);
  }

  std::string Write() const {
    std::string file(length_, '\0');
    std::memcpy(file.data(), COHOST_DATA_IMAGE_MAGIC, 8);
    Put<uint32_t>(file, 8, COHOST_DATA_IMAGE_VERSION);
    Put<uint32_t>(file, 12, kHeaderSize);
    Put<uint64_t>(file, 16, length_);
    Put<uint64_t>(file, 24, records_.size());
    Put<uint64_t>(file, 32, fence_keys_);
    Put<uint64_t>(file, 40, first_block_);
    Put<uint32_t>(file, 48, shift_);
    uint64_t fence_key = fence_keys_;
    uint64_t offset = first_block_;
    for (uint64_t block = 0; block < blocks_; ++block) {
      const std::string_view key = KeyOfFence(block);
      key.copy(file.data() + fence_key, key.size());
      fence_key += key.size();
      Put<uint64_t>(file, kHeaderSize + block * kFenceSize, offset);
      Put<uint64_t>(file, kHeaderSize + block * kFenceSize + 8, fence_key);
      WriteBlock(block, offset, file);
      offset = EndOfBlock(block, offset);
    }
    return file;
  }

 private:
  uint64_t First(uint64_t block) const { return block << shift_; }
  uint64_t Last(uint64_t block) const {
    return std::min<uint64_t>(First(block + 1), records_.size());
  }

  std::string_view KeyOfFence(uint64_t block) const {
    if (block == 0) return {};
    return FenceKey(records_[First(block) - 1]->first, records_[First(block)]->first);
  }

  uint64_t ValuesOfBlock(uint64_t block, uint64_t offset) const {
    for (uint64_t i = First(block); i < Last(block); ++i) {
      offset += kEntrySize + records_[i]->first.size();
    }
    return AlignedTo8(offset);
  }

  uint64_t EndOfBlock(uint64_t block, uint64_t offset) const {
    offset = ValuesOfBlock(block, offset);
    for (uint64_t i = First(block); i < Last(block); ++i) {
      offset += AlignedTo8(records_[i]->second.size());
    }
    return offset;
  }

  void WriteBlock(uint64_t block, uint64_t offset, std::string& file) const {
    uint64_t entry = offset;
    uint64_t key = offset + (Last(block) - First(block)) * kEntrySize;
    uint64_t value = ValuesOfBlock(block, offset);
    for (uint64_t i = First(block); i < Last(block); ++i, entry += kEntrySize) {
      const auto& [record_key, record_value] = *records_[i];
      record_key.copy(file.data() + key, record_key.size());
      record_value.copy(file.data() + value, record_value.size());
      key += record_key.size();
      Put<uint64_t>(file, entry, value);
      Put<uint32_t>(file, entry + 8, static_cast<uint32_t>(key - offset));
      Put<uint32_t>(file, entry + 12, static_cast<uint32_t>(record_value.size()));
      value += AlignedTo8(record_value.size());
    }
  }

  const SortedRecords& records_;
  uint32_t shift_ = 0;
  uint64_t blocks_ = 0;
  uint64_t fence_keys_ = 0;
  uint64_t first_block_ = 0;
  uint64_t length_ = 0;
};

// Reads parts of a file through one window, in rising order for the most part.
class WindowReader {
 public:
  WindowReader(int fd, uint64_t file_size) : fd_(fd), file_size_(file_size) {}

  // Valid until the next call; `length` is at most kWindow.
  absl::StatusOr<std::string_view> Read(uint64_t offset, size_t length) {
    if (offset > file_size_ || length > file_size_ - offset) {
      return absl::DataLossError("a part lies outside of the file");
    }
    if (offset < begin_ || offset + length > begin_ + window_.size()) {
      COHOST_RETURN_IF_ERROR(Fill(offset));
    }
    return std::string_view(window_).substr(offset - begin_, length);
  }

 private:
  absl::Status Fill(uint64_t offset) {
    begin_ = offset;
    window_.resize(std::min<uint64_t>(kWindow, file_size_ - offset));
    COHOST_ASSIGN_OR_RETURN(const size_t got, ReadAt(fd_, offset, window_.data(), window_.size()));
    if (got < window_.size()) {
      return absl::DataLossError("the file became shorter while it was read");
    }
    return absl::OkStatus();
  }

  const int fd_;
  const uint64_t file_size_;
  uint64_t begin_ = 0;
  std::string window_;
};

bool AllZero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
}

absl::Status VerifyHeader(std::string_view header, uint64_t file_size, cohost_data_image* image) {
  const char* wrong = cohost_data_image_open(header.data(), file_size, image);
  if (wrong != nullptr) return absl::DataLossError(wrong);
  const std::string_view name = header.substr(kNameOffset, kNameSize);
  const size_t name_length = std::min(name.find('\0'), kNameSize);
  if (!AllZero(header.substr(kReservedOffset, kReservedSize)) ||
      !AllZero(name.substr(name_length))) {
    return absl::DataLossError("data image with non-zero reserved bytes");
  }
  return absl::OkStatus();
}

absl::Status VerifyPadding(WindowReader& reader, uint64_t from, uint64_t to) {
  COHOST_ASSIGN_OR_RETURN(const std::string_view padding, reader.Read(from, to - from));
  if (!AllZero(padding)) return absl::DataLossError("data image with non-zero padding");
  return absl::OkStatus();
}

// Places, order and padding of all fences, blocks and records. Call Verify once.
class BlockVerifier {
 public:
  BlockVerifier(int fd, const cohost_data_image& image, uint64_t first_block)
      : image_(image),
        blocks_(cohost_data_image_blocks(image.count, image.shift)),
        first_block_(first_block),
        fences_(fd, image.length),
        fence_keys_(fd, image.length),
        entries_(fd, image.length),
        keys_(fd, image.length),
        values_(fd, image.length),
        fence_key_end_(kHeaderSize + blocks_ * kFenceSize),
        block_end_(first_block) {}

  absl::Status Verify() {
    for (uint64_t number = 0; number < blocks_; ++number) {
      COHOST_RETURN_IF_ERROR(VerifyBlock(number));
    }
    if (AlignedTo8(fence_key_end_) != first_block_ || block_end_ != image_.length) {
      return absl::DataLossError("data image with bytes that belong to no record");
    }
    return VerifyPadding(fence_keys_, fence_key_end_, first_block_);
  }

 private:
  absl::Status VerifyBlock(uint64_t number) {
    const uint64_t block = block_end_;
    const uint64_t first = number << image_.shift;
    const uint64_t count = std::min(image_.count - first, uint64_t{1} << image_.shift);
    COHOST_ASSIGN_OR_RETURN(const std::string_view entries,
                            entries_.Read(block, count * kEntrySize));
    const auto* entry = reinterpret_cast<const unsigned char*>(entries.data());
    const uint64_t keys_end = block + cohost_data_image_u32(entry + (count - 1) * kEntrySize + 8);
    uint64_t key = block + count * kEntrySize;
    const uint64_t values = AlignedTo8(keys_end);
    block_end_ = values;
    for (uint64_t i = 0; i < count; ++i, entry += kEntrySize) {
      const uint64_t key_end = block + cohost_data_image_u32(entry + 8);
      if (key_end < key || key_end - key > COHOST_DATA_IMAGE_MAX_KEY) {
        return absl::DataLossError(absl::StrCat("record ", first + i, " is not where it must be"));
      }
      COHOST_ASSIGN_OR_RETURN(const std::string_view text, keys_.Read(key, key_end - key));
      if (first + i > 0 && text <= previous_) {
        return absl::DataLossError(absl::StrCat("record ", first + i, " is out of order"));
      }
      if (i == 0) {
        COHOST_RETURN_IF_ERROR(VerifyFence(number, block, text));
      }
      COHOST_RETURN_IF_ERROR(VerifyValue(entry, first + i));
      previous_ = text;
      key = key_end;
    }
    return VerifyPadding(keys_, keys_end, values);
  }

  absl::Status VerifyFence(uint64_t number, uint64_t block, std::string_view first_key) {
    COHOST_ASSIGN_OR_RETURN(const std::string_view fence,
                            fences_.Read(kHeaderSize + number * kFenceSize, kFenceSize));
    const auto* at = reinterpret_cast<const unsigned char*>(fence.data());
    const std::string_view expected = number == 0 ? "" : FenceKey(previous_, first_key);
    const uint64_t begin = std::exchange(fence_key_end_, fence_key_end_ + expected.size());
    if (cohost_data_image_u64(at) != block || cohost_data_image_u64(at + 8) != fence_key_end_) {
      return absl::DataLossError(absl::StrCat("fence ", number, " points to a wrong place"));
    }
    COHOST_ASSIGN_OR_RETURN(const std::string_view key, fence_keys_.Read(begin, expected.size()));
    if (key != expected) {
      return absl::DataLossError(absl::StrCat("fence ", number, " has a wrong key"));
    }
    return absl::OkStatus();
  }

  absl::Status VerifyValue(const unsigned char* entry, uint64_t number) {
    const uint64_t length = cohost_data_image_u32(entry + 12);
    if (cohost_data_image_u64(entry) != block_end_ || length > image_.length - block_end_) {
      return absl::DataLossError(absl::StrCat("record ", number, " is not where it must be"));
    }
    const uint64_t end = block_end_ + length;
    block_end_ = AlignedTo8(end);
    return VerifyPadding(values_, end, block_end_);
  }

  const cohost_data_image image_;
  const uint64_t blocks_;
  const uint64_t first_block_;
  WindowReader fences_;
  WindowReader fence_keys_;
  WindowReader entries_;
  WindowReader keys_;
  WindowReader values_;
  // Of what has been checked so far.
  uint64_t fence_key_end_;
  uint64_t block_end_;
  std::string previous_;
};

absl::Status VerifyChecksum(int fd, const cohost_data_image& image, std::string header) {
  const std::string expected = header.substr(kDigestOffset, sizeof(Sha256Digest));
  header.replace(kDigestOffset, sizeof(Sha256Digest), sizeof(Sha256Digest), '\0');
  Sha256 sha256;
  sha256.Update(header);
  WindowReader reader(fd, image.length);
  for (uint64_t offset = kHeaderSize; offset < image.length;) {
    const size_t length = std::min<uint64_t>(kWindow, image.length - offset);
    COHOST_ASSIGN_OR_RETURN(const std::string_view part, reader.Read(offset, length));
    sha256.Update(part);
    offset += length;
  }
  const Sha256Digest digest = sha256.Finish();
  if (std::memcmp(digest.data(), expected.data(), digest.size()) != 0) {
    return absl::DataLossError("data image with a wrong checksum");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> DataImageBuilder::Build() {
  const auto records = std::exchange(records_, {});
  if (name_.size() > kNameSize) {
    return absl::InvalidArgumentError(absl::StrCat("name '", name_, "' is too long"));
  }
  COHOST_ASSIGN_OR_RETURN(const SortedRecords sorted, Sort(records));
  std::string file = ImageLayout(sorted).Write();
  std::copy(name_.begin(), name_.end(), file.begin() + kNameOffset);
  Sha256 sha256;
  sha256.Update(file);
  const Sha256Digest digest = sha256.Finish();
  std::memcpy(file.data() + kDigestOffset, digest.data(), digest.size());
  return file;
}

absl::Status VerifyDataImage(int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return ErrnoStatus(errno, "fstat", "");
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size < kHeaderSize) return absl::DataLossError("shorter than a data image's header");
  WindowReader reader(fd, size);
  COHOST_ASSIGN_OR_RETURN(const std::string_view read, reader.Read(0, kHeaderSize));
  const std::string header(read);
  cohost_data_image image = {};
  COHOST_RETURN_IF_ERROR(VerifyHeader(header, size, &image));
  const auto* at = reinterpret_cast<const unsigned char*>(header.data());
  COHOST_RETURN_IF_ERROR(BlockVerifier(fd, image, cohost_data_image_u64(at + 40)).Verify());
  return VerifyChecksum(fd, image, header);
}

}  // namespace cohost
