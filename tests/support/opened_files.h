// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/system/unique_fd.h"

namespace cohost::testing {

// Every file that any process opens or executes on the file systems of some folders, as the kernel
// reports it (fanotify), until it is stopped. Needs CAP_SYS_ADMIN.
class OpenedFiles {
 public:
  // PERMISSION_DENIED or UNIMPLEMENTED where this machine does not allow it.
  static absl::StatusOr<std::unique_ptr<OpenedFiles>> Watch(
      const std::vector<std::string>& folders);
  ~OpenedFiles();
  OpenedFiles(const OpenedFiles&) = delete;
  OpenedFiles& operator=(const OpenedFiles&) = delete;

  // Paths by process, of all opens that ended before the call. Once.
  std::map<pid_t, std::set<std::string>> Stop();

 private:
  OpenedFiles(UniqueFd events, UniqueFd stop);
  void Run();
  // What waits in the queue now.
  void Drain();

  const UniqueFd events_;
  const UniqueFd stop_;  // an eventfd
  Mutex mutex_;
  std::map<pid_t, std::set<std::string>> paths_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace cohost::testing
