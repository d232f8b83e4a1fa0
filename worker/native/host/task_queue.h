// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "worker/sdk/cohost.h"

namespace cohost::worker::native {

struct ModuleTask {
  cohost_event_callback callback = nullptr;
  void* data = nullptr;
};

// A service's tasks that wait for the pool. Each leaves the queue once: to be run, or to be
// cancelled. Thread-safe.
class TaskQueue {
 public:
  static constexpr size_t kMaxTasks = 65536;

  // False when kMaxTasks wait, or after Close.
  bool Add(const ModuleTask& task);
  // The oldest.
  std::optional<ModuleTask> Take();
  // Takes no more; what waits is to be cancelled by the caller.
  std::vector<ModuleTask> Close();

 private:
  Mutex mutex_;
  std::deque<ModuleTask> tasks_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace cohost::worker::native
