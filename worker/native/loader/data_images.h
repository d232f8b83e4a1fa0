// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace cohost::worker::native {

// The read-only data images of this worker, each file mapped once and until the process ends. The
// pages are the page cache's: shared with every worker that maps the same file. Thread-safe.
class DataImages {
 public:
  // The bytes of the file. FAILED_PRECONDITION when it is empty or not a regular file.
  absl::StatusOr<std::string_view> Map(const std::string& path);
  // Unmaps the pages that were touched so far; they come back with the next look at them.
  void ReleasePages();

 private:
  Mutex mutex_;
  std::map<std::string, std::string_view> images_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::worker::native
