// SPDX-License-Identifier: Apache-2.0
#include "base/data_image_builder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/data_image.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost {

namespace {

constexpr size_t kHeaderSize = COHOST_DATA_IMAGE_HEADER_SIZE;
constexpr size_t kEntrySize = COHOST_DATA_IMAGE_ENTRY_SIZE;
constexpr size_t kDigestOffset = 64;
constexpr size_t kNameOffset = 96;
constexpr size_t kNameSize = 32;
// Holds the longest key, and is few enough reads for an image of many MiB.
constexpr size_t kWindow = 128 * 1024;

constexpr uint64_t AlignedTo8(uint64_t offset) { return (offset + 7) & ~uint64_t{7}; }

template <typename Number>
void Put(std::string& file, size_t offset, Number number) {
  std::memcpy(file.data() + offset, &number, sizeof number);
}

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
    size_t done = 0;
    while (done < window_.size()) {
      const ssize_t n = ::pread(fd_, window_.data() + done, window_.size() - done,
                                static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, "pread", "");
      if (n == 0) return absl::DataLossError("the file became shorter while it was read");
      done += static_cast<size_t>(n);
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
  if (!AllZero(header.substr(56, 8)) || !AllZero(name.substr(name_length))) {
    return absl::DataLossError("data image with non-zero reserved bytes");
  }
  return absl::OkStatus();
}

absl::Status VerifyPadding(WindowReader& reader, uint64_t from, uint64_t to) {
  COHOST_ASSIGN_OR_RETURN(const std::string_view padding, reader.Read(from, to - from));
  if (!AllZero(padding)) return absl::DataLossError("data image with non-zero padding");
  return absl::OkStatus();
}

// Places, order and padding of all records.
absl::Status VerifyRecords(int fd, const cohost_data_image& image, uint64_t values_offset) {
  WindowReader index(fd, image.length);
  WindowReader keys(fd, image.length);
  WindowReader values(fd, image.length);
  uint64_t key_end = kHeaderSize + image.count * kEntrySize;
  uint64_t value_end = values_offset;
  std::string previous;
  for (uint64_t i = 0; i < image.count; ++i) {
    COHOST_ASSIGN_OR_RETURN(const std::string_view entry,
                            index.Read(kHeaderSize + i * kEntrySize, kEntrySize));
    const auto* at = reinterpret_cast<const unsigned char*>(entry.data());
    const uint32_t key_length = cohost_data_image_u32(at + 16);
    const uint32_t value_length = cohost_data_image_u32(at + 20);
    if (cohost_data_image_u64(at) != key_end || cohost_data_image_u64(at + 8) != value_end ||
        key_length > COHOST_DATA_IMAGE_MAX_KEY || value_length > image.length - value_end) {
      return absl::DataLossError(absl::StrCat("record ", i, " is not where it must be"));
    }
    COHOST_ASSIGN_OR_RETURN(const std::string_view key, keys.Read(key_end, key_length));
    if (i > 0 && key <= previous) {
      return absl::DataLossError(absl::StrCat("record ", i, " is out of order"));
    }
    previous = key;
    key_end += key_length;
    const uint64_t padded = AlignedTo8(value_end + value_length);
    COHOST_RETURN_IF_ERROR(VerifyPadding(values, value_end + value_length, padded));
    value_end = padded;
  }
  if (AlignedTo8(key_end) != values_offset || value_end != image.length) {
    return absl::DataLossError("data image with bytes that belong to no record");
  }
  return VerifyPadding(keys, key_end, values_offset);
}

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
  std::vector<const std::pair<std::string, std::string>*> sorted;
  sorted.reserve(records.size());
  uint64_t key_bytes = 0;
  uint64_t value_bytes = 0;
  for (const auto& record : records) {
    if (record.first.size() > COHOST_DATA_IMAGE_MAX_KEY ||
        record.second.size() > std::numeric_limits<uint32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("record '", record.first.substr(0, 40), "' is too long"));
    }
    sorted.push_back(&record);
    key_bytes += record.first.size();
    value_bytes += AlignedTo8(record.second.size());
  }
  if (name_.size() > kNameSize) {
    return absl::InvalidArgumentError(absl::StrCat("name '", name_, "' is too long"));
  }
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->first < b->first; });

  uint64_t key = kHeaderSize + sorted.size() * kEntrySize;
  uint64_t value = AlignedTo8(key + key_bytes);
  std::string file(value + value_bytes, '\0');
  std::memcpy(file.data(), COHOST_DATA_IMAGE_MAGIC, 8);
  Put<uint32_t>(file, 8, COHOST_DATA_IMAGE_VERSION);
  Put<uint32_t>(file, 12, kHeaderSize);
  Put<uint64_t>(file, 16, file.size());
  Put<uint64_t>(file, 24, sorted.size());
  Put<uint64_t>(file, 32, kHeaderSize);
  Put<uint64_t>(file, 40, key);
  Put<uint64_t>(file, 48, value);
  std::copy(name_.begin(), name_.end(), file.begin() + kNameOffset);
  for (size_t i = 0; i < sorted.size(); ++i) {
    const auto& [record_key, record_value] = *sorted[i];
    if (i > 0 && sorted[i - 1]->first == record_key) {
      return absl::AlreadyExistsError(absl::StrCat("two records '", record_key, "'"));
    }
    const size_t entry = kHeaderSize + i * kEntrySize;
    Put<uint64_t>(file, entry, key);
    Put<uint64_t>(file, entry + 8, value);
    Put<uint32_t>(file, entry + 16, static_cast<uint32_t>(record_key.size()));
    Put<uint32_t>(file, entry + 20, static_cast<uint32_t>(record_value.size()));
    std::copy(record_key.begin(), record_key.end(), file.begin() + static_cast<ptrdiff_t>(key));
    std::copy(record_value.begin(), record_value.end(),
              file.begin() + static_cast<ptrdiff_t>(value));
    key += record_key.size();
    value += AlignedTo8(record_value.size());
  }
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
  COHOST_RETURN_IF_ERROR(VerifyRecords(fd, image, cohost_data_image_u64(at + 48)));
  return VerifyChecksum(fd, image, header);
}

}  // namespace cohost
