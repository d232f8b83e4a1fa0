// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/stream/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace cohost::supervisor {

bool LogFile::Open() {
  // O_NONBLOCK: somebody may have put a pipe there; the test for a regular file follows.
  UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const auto size = static_cast<uint64_t>(info.st_size);
  offset_ = 0;
  if (from_ == From::kEnd) offset_ = size;
  if (from_ == From::kTail && size > kTail) {
    offset_ = size - kTail;
    skipping_ = true;
  }
  // Whatever comes to this path later is read whole.
  from_ = From::kStart;
  fd_ = std::move(fd);
  return true;
}

bool LogFile::WasReplaced() const {
  struct stat named {};
  struct stat open {};
  if (::fstat(fd_.get(), &open) != 0) return true;
  if (static_cast<uint64_t>(open.st_size) < offset_) return true;
  // Between rename and reopen there is no file: the old one may still grow.
  if (::stat(path_.c_str(), &named) != 0) return false;
  return named.st_dev != open.st_dev || named.st_ino != open.st_ino;
}

std::vector<std::string> LogFile::Read(size_t limit) {
  std::vector<std::string> lines;
  if (!fd_.valid() && !Open()) return lines;
  std::array<char, 64 << 10> block;
  bool replaced = false;
  while (lines.size() < limit) {
    const ssize_t size =
        ::pread(fd_.get(), block.data(), block.size(), static_cast<off_t>(offset_));
    if (size < 0 && errno == EINTR) continue;
    if (size > 0) {
      offset_ += static_cast<uint64_t>(size);
      Split({block.data(), static_cast<size_t>(size)}, lines);
      continue;
    }
    // Lines written between the last read and the rename: one more round after seeing it.
    if (!replaced) {
      replaced = WasReplaced();
      if (!replaced) break;
      continue;
    }
    if (!partial_.empty()) lines.push_back(std::exchange(partial_, {}));
    skipping_ = false;
    replaced = false;
    fd_.Reset();
    if (!Open()) break;
  }
  return lines;
}

void LogFile::Split(std::string_view block, std::vector<std::string>& lines) {
  while (!block.empty()) {
    const size_t end = block.find('\n');
    const std::string_view part = block.substr(0, end);
    if (!skipping_) partial_.append(part.substr(0, kLongestLine - partial_.size()));
    if (end == std::string_view::npos) return;
    if (!skipping_) lines.push_back(std::exchange(partial_, {}));
    skipping_ = false;
    block.remove_prefix(end + 1);
  }
}

}  // namespace cohost::supervisor
