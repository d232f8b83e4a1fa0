// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/task_queue.h"

namespace cohost::worker::native {

bool TaskQueue::Add(const ModuleTask& task) {
  MutexLock lock(mutex_);
  if (closed_ || tasks_.size() >= kMaxTasks) return false;
  tasks_.push_back(task);
  return true;
}

std::optional<ModuleTask> TaskQueue::Take() {
  MutexLock lock(mutex_);
  if (tasks_.empty()) return std::nullopt;
  const ModuleTask task = tasks_.front();
  tasks_.pop_front();
  return task;
}

std::vector<ModuleTask> TaskQueue::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  std::vector<ModuleTask> rest(tasks_.begin(), tasks_.end());
  tasks_.clear();
  return rest;
}

}  // namespace cohost::worker::native
