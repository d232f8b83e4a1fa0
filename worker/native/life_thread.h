// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "base/mutex.h"

namespace cohost::worker::native {

// Runs the life-cycle steps of one service one after the other, each of which may block for as long
// as the module likes. A thread exists only while there are steps. Thread-safe. Steps that were
// posted run also when the object is gone: they hold what they use. Copies post to the same thread.
class LifeThread {
 public:
  LifeThread();

  // False when no thread can be started: the step will not run.
  bool Post(std::function<void()> step) const;

 private:
  struct State {
    Mutex mutex;
    std::deque<std::function<void()>> steps ABSL_GUARDED_BY(mutex);
    bool running ABSL_GUARDED_BY(mutex) = false;
  };
  static void Run(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;
};

}  // namespace cohost::worker::native
