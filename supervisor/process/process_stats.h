// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "base/units.h"

namespace cohost::supervisor {

// What /proc/PID/smaps_rollup says. PSS counts a shared page by its share, so that sums over
// processes are true.
struct MemoryStats {
  Bytes pss;
  // Private_Clean + Private_Dirty: what ending the process would give back.
  Bytes private_bytes;
  Bytes anonymous;
};

// What /proc/PID/stat says.
struct CpuStats {
  absl::Duration user_time;
  absl::Duration system_time;
  uint32_t threads = 0;
};

// Text of /proc/PID/smaps_rollup. INVALID_ARGUMENT when one of the figures is missing (a process
// that just ended has an empty file) or is not a number.
absl::StatusOr<MemoryStats> ParseSmapsRollup(std::string_view text);

// Text of /proc/PID/stat; the command name in it may contain anything, also ") ".
absl::StatusOr<CpuStats> ParseProcStat(std::string_view text, int64_t ticks_per_second);

// Reads figures of one process, surely of that one: the /proc folder is opened once and checked
// against the pidfd afterwards, so that a pid which was given to another process in between is
// never read. Owned by whoever knows the process; any thread, one at a time. Reads fail with
// NOT_FOUND once the process has ended.
class ProcessStats {
 public:
  static absl::StatusOr<ProcessStats> Open(pid_t pid, int pidfd);

  // Walks the address space of the process under its lock: 1 ms and more for large ones.
  absl::StatusOr<MemoryStats> ReadMemory() const;
  absl::StatusOr<CpuStats> ReadCpu() const;
  // The text of smaps in parts, to be parsed while it is read: 0.7 KB a mapping. The kernel holds
  // the lock of the address space for each part, about 4 KB, so a worker with many mappings is
  // slowed down while this lasts. An error of `sink` ends it and is returned.
  absl::Status ReadMaps(const std::function<absl::Status(std::string_view part)>& sink) const;

 private:
  explicit ProcessStats(UniqueFd folder) : folder_(std::move(folder)) {}

  UniqueFd folder_;  // /proc/PID
};

}  // namespace cohost::supervisor
