// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/tar_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kLongestName = 100;
// Eleven octal digits.
constexpr uint64_t kLargestFile = (uint64_t{1} << 33) - 1;

using Header = std::array<char, kBlock>;

// Fields of a header, as POSIX has them: where they begin and how long they are.
struct Field {
  size_t at;
  size_t length;
};
constexpr Field kName = {0, 100};
constexpr Field kMode = {100, 8};
constexpr Field kUser = {108, 8};
constexpr Field kGroup = {116, 8};
constexpr Field kSize = {124, 12};
constexpr Field kTime = {136, 12};
constexpr Field kCheck = {148, 8};
constexpr Field kType = {156, 1};
constexpr Field kMagic = {257, 8};

void Put(Header& header, Field field, std::string_view text) {
  std::memcpy(header.data() + field.at, text.data(), std::min(text.size(), field.length));
}

// Octal digits as many as there is room for before the NUL.
void PutNumber(Header& header, Field field, uint64_t number) {
  Put(header, field, absl::StrFormat("%0*o", static_cast<int>(field.length - 1), number));
}

std::string_view View(const Header& header) { return {header.data(), header.size()}; }

Header MakeHeader(std::string_view name, uint64_t size, absl::Time time) {
  Header header{};
  Put(header, kName, name);
  PutNumber(header, kMode, 0644);
  PutNumber(header, kUser, 0);
  PutNumber(header, kGroup, 0);
  PutNumber(header, kSize, size);
  PutNumber(header, kTime, static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixSeconds(time))));
  Put(header, kType, "0");
  Put(header, kMagic, std::string_view("ustar\00000", 8));
  // The sum of all bytes, with blanks for the sum itself.
  Put(header, kCheck, "        ");
  uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  Put(header, kCheck, std::string_view(absl::StrFormat("%06o", sum)).substr(0, 6));
  header[kCheck.at + 6] = '\0';
  return header;
}

}  // namespace

absl::Status TarWriter::Begin(std::string_view name, uint64_t size) {
  if (left_ != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the file before '", AsAbsl(name), "' lacks ", left_, " bytes"));
  }
  if (name.empty() || name.size() > kLongestName || size > kLargestFile) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", AsAbsl(name), "' with ", size, " bytes does not go into an archive"));
  }
  left_ = size;
  padding_ = (kBlock - size % kBlock) % kBlock;
  return WriteAll(fd_, View(MakeHeader(name, size, time_)));
}

absl::Status TarWriter::Write(std::string_view bytes) {
  if (bytes.size() > left_) {
    return absl::OutOfRangeError(
        absl::StrCat("the file has ", bytes.size() - left_, " bytes more than was said"));
  }
  COHOST_RETURN_IF_ERROR(WriteAll(fd_, bytes));
  left_ -= bytes.size();
  if (left_ != 0 || padding_ == 0) return absl::OkStatus();
  const Header zeros{};
  return WriteAll(fd_, View(zeros).substr(0, std::exchange(padding_, 0)));
}

absl::Status TarWriter::Add(std::string_view name, std::string_view content) {
  COHOST_RETURN_IF_ERROR(Begin(name, content.size()));
  return Write(content);
}

absl::Status TarWriter::Finish() {
  if (left_ != 0) {
    return absl::FailedPreconditionError(absl::StrCat("the last file lacks ", left_, " bytes"));
  }
  const Header zeros{};
  COHOST_RETURN_IF_ERROR(WriteAll(fd_, View(zeros)));
  return WriteAll(fd_, View(zeros));
}

}  // namespace cohost::supervisor
