// SPDX-License-Identifier: Apache-2.0
#include "supervisor/process/process_stats.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/pidfd.h"

namespace cohost::supervisor {
namespace {

// All but smaps are one screen of text; more is not what we know.
constexpr size_t kLongestFile = 16 * 1024;
// The kernel gives a page or so at a time, whatever the buffer.
constexpr size_t kMapsPart = 64 * 1024;
// A million mappings.
constexpr size_t kLongestMaps = size_t{1} << 30;

// The value of "Key:   123 kB" among the lines of `text`.
std::optional<Bytes> FindKilobytes(std::string_view text, std::string_view key) {
  for (const absl::string_view line : absl::StrSplit(AsAbsl(text), '\n')) {
    if (line.size() <= key.size() || line.substr(0, key.size()) != AsAbsl(key) ||
        line[key.size()] != ':') {
      continue;
    }
    absl::string_view value = absl::StripAsciiWhitespace(line.substr(key.size() + 1));
    if (value.size() < 3 || value.substr(value.size() - 3) != " kB") return std::nullopt;
    value.remove_suffix(3);
    uint64_t kilobytes = 0;
    if (!absl::SimpleAtoi(value, &kilobytes) ||
        kilobytes > (std::numeric_limits<uint64_t>::max() >> 10)) {
      return std::nullopt;
    }
    return KiB(kilobytes);
  }
  return std::nullopt;
}

absl::StatusOr<UniqueFd> OpenAt(const UniqueFd& folder, const char* name) {
  UniqueFd fd(openat(folder.get(), name, O_RDONLY | O_CLOEXEC));
  // An open /proc/PID of an ended process answers ESRCH or ENOENT: one code for both.
  if (!fd.valid()) {
    return errno == ESRCH ? absl::NotFoundError("the process has ended")
                          : ErrnoStatus(errno, "open", name);
  }
  return fd;
}

// Up to `size` bytes; 0 at the end.
absl::StatusOr<size_t> ReadSome(const UniqueFd& fd, const char* name, char* buffer, size_t size) {
  while (true) {
    const ssize_t got = read(fd.get(), buffer, size);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == ESRCH) return absl::NotFoundError("the process has ended");
    if (errno != EINTR) return ErrnoStatus(errno, "read", name);
  }
}

absl::StatusOr<std::string> ReadAt(const UniqueFd& folder, const char* name) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenAt(folder, name));
  std::string text(kLongestFile, '\0');
  size_t length = 0;
  while (length < text.size()) {
    COHOST_ASSIGN_OR_RETURN(const size_t got,
                            ReadSome(fd, name, text.data() + length, text.size() - length));
    if (got == 0) break;
    length += got;
  }
  text.resize(length);
  if (text.empty()) return absl::NotFoundError("the process has ended");
  return text;
}

absl::Duration TicksToDuration(uint64_t ticks, int64_t per_second) {
  return absl::Seconds(static_cast<double>(ticks) / static_cast<double>(per_second));
}

}  // namespace

absl::StatusOr<MemoryStats> ParseSmapsRollup(std::string_view text) {
  const auto pss = FindKilobytes(text, "Pss");
  const auto private_clean = FindKilobytes(text, "Private_Clean");
  const auto private_dirty = FindKilobytes(text, "Private_Dirty");
  const auto anonymous = FindKilobytes(text, "Anonymous");
  if (!pss || !private_clean || !private_dirty || !anonymous) {
    return absl::InvalidArgumentError("smaps_rollup: a figure is missing or malformed");
  }
  if (private_clean->count > std::numeric_limits<uint64_t>::max() - private_dirty->count) {
    return absl::InvalidArgumentError("smaps_rollup: private bytes overflow");
  }
  return MemoryStats{*pss, Bytes{private_clean->count + private_dirty->count}, *anonymous};
}

absl::StatusOr<CpuStats> ParseProcStat(std::string_view text, int64_t ticks_per_second) {
  // The name ends at the last parenthesis: it may itself contain any byte.
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos || ticks_per_second <= 0) {
    return absl::InvalidArgumentError("stat: no command name");
  }
  // Fields from "state" on, which proc(5) counts as number 3.
  const std::vector<absl::string_view> fields =
      absl::StrSplit(AsAbsl(text.substr(name_end + 2)), ' ');
  constexpr size_t kUserTime = 14 - 3;
  constexpr size_t kSystemTime = 15 - 3;
  constexpr size_t kThreads = 20 - 3;
  uint64_t user = 0;
  uint64_t system = 0;
  CpuStats stats;
  if (fields.size() <= kThreads || !absl::SimpleAtoi(fields[kUserTime], &user) ||
      !absl::SimpleAtoi(fields[kSystemTime], &system) ||
      !absl::SimpleAtoi(fields[kThreads], &stats.threads)) {
    return absl::InvalidArgumentError("stat: a field is missing or malformed");
  }
  stats.user_time = TicksToDuration(user, ticks_per_second);
  stats.system_time = TicksToDuration(system, ticks_per_second);
  return stats;
}

absl::StatusOr<ProcessStats> ProcessStats::Open(pid_t pid, int pidfd) {
  const std::string path = absl::StrCat("/proc/", pid);
  UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return ErrnoStatus(errno, "open", path);
  // Still there now means that the number was its own when the folder was opened. EPERM also means
  // that it exists.
  if (SignalPidfd(pidfd, 0) != 0 && errno != EPERM) {
    return errno == ESRCH ? absl::NotFoundError(absl::StrCat("process ", pid, " has ended"))
                          : ErrnoStatus(errno, "pidfd_send_signal", path);
  }
  return ProcessStats(std::move(folder));
}

absl::StatusOr<MemoryStats> ProcessStats::ReadMemory() const {
  COHOST_ASSIGN_OR_RETURN(const std::string text, ReadAt(folder_, "smaps_rollup"));
  return ParseSmapsRollup(text);
}

absl::Status ProcessStats::ReadMaps(
    const std::function<absl::Status(std::string_view part)>& sink) const {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenAt(folder_, "smaps"));
  std::string part(kMapsPart, '\0');
  for (size_t length = 0;;) {
    COHOST_ASSIGN_OR_RETURN(const size_t got, ReadSome(fd, "smaps", part.data(), part.size()));
    if (got == 0 && length == 0) return absl::NotFoundError("the process has ended");
    if (got == 0) return absl::OkStatus();
    length += got;
    if (length > kLongestMaps) return absl::ResourceExhaustedError("smaps: more than 1 GiB");
    COHOST_RETURN_IF_ERROR(sink(std::string_view(part).substr(0, got)));
  }
}

absl::StatusOr<CpuStats> ProcessStats::ReadCpu() const {
  COHOST_ASSIGN_OR_RETURN(const std::string text, ReadAt(folder_, "stat"));
  return ParseProcStat(text, sysconf(_SC_CLK_TCK));
}

}  // namespace cohost::supervisor
