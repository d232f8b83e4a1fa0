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

// Both files are one screen of text; more is not what we know.
constexpr size_t kLongestFile = 16 * 1024;

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

absl::StatusOr<std::string> ReadAt(const UniqueFd& folder, const char* name) {
  const UniqueFd fd(openat(folder.get(), name, O_RDONLY | O_CLOEXEC));
  // An open /proc/PID of an ended process answers ESRCH or ENOENT: one code for both.
  if (!fd.valid()) {
    return errno == ESRCH ? absl::NotFoundError("the process has ended")
                          : ErrnoStatus(errno, "open", name);
  }
  std::string text(kLongestFile, '\0');
  size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = read(fd.get(), text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == ESRCH) return absl::NotFoundError("the process has ended");
    if (got < 0) return ErrnoStatus(errno, "read", name);
    if (got == 0) break;
    length += static_cast<size_t>(got);
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

absl::StatusOr<CpuStats> ProcessStats::ReadCpu() const {
  COHOST_ASSIGN_OR_RETURN(const std::string text, ReadAt(folder_, "stat"));
  return ParseProcStat(text, sysconf(_SC_CLK_TCK));
}

}  // namespace cohost::supervisor
