// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "base/mutex.h"
#include "worker/loop/handler_pool.h"

namespace cohost::worker {

// Runs tasks on a HandlerPool one at a time, in the order of Post: what a SERIAL service is
// promised for its requests, and what its timers and tasks may share. Thread-safe. The pool
// outlives it; tasks that were posted run (or wait in the pool) also when the object is gone.
class SerialQueue {
 public:
  explicit SerialQueue(HandlerPool& pool);

  // False when the pool takes no more: the task will not run.
  bool Post(std::function<void()> task);

 private:
  struct State;
  static void RunSome(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;
};

}  // namespace cohost::worker
