// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/serial_queue.h"

#include <utility>

namespace cohost::worker {
namespace {

// After so many tasks the thread is given back, so that one service's long queue does not keep
// other services from the pool.
constexpr int kTasksInARow = 16;

}  // namespace

struct SerialQueue::State {
  explicit State(HandlerPool& p) : pool(p) {}

  HandlerPool& pool;
  Mutex mutex;
  std::deque<std::function<void()>> tasks ABSL_GUARDED_BY(mutex);
  bool running ABSL_GUARDED_BY(mutex) = false;
};

SerialQueue::SerialQueue(HandlerPool& pool) : state_(std::make_shared<State>(pool)) {}

bool SerialQueue::Post(std::function<void()> task) {
  MutexLock lock(state_->mutex);
  if (!state_->running && !state_->pool.Post([state = state_] { RunSome(state); })) return false;
  state_->running = true;
  state_->tasks.push_back(std::move(task));
  return true;
}

void SerialQueue::RunSome(const std::shared_ptr<State>& state) {
  for (int done = 0;; ++done) {
    std::function<void()> task;
    {
      MutexLock lock(state->mutex);
      if (state->tasks.empty()) {
        state->running = false;
        return;
      }
      // A pool that is stopping takes no more: then the rest runs here.
      if (done >= kTasksInARow && state->pool.Post([state] { RunSome(state); })) return;
      task = std::move(state->tasks.front());
      state->tasks.pop_front();
    }
    task();
  }
}

}  // namespace cohost::worker
