// SPDX-License-Identifier: Apache-2.0
#include "worker/native/life_thread.h"

#include <pthread.h>

#include <system_error>
#include <thread>
#include <utility>

namespace cohost::worker::native {

LifeThread::LifeThread() : state_(std::make_shared<State>()) {}

bool LifeThread::Post(std::function<void()> step) const {
  MutexLock lock(state_->mutex);
  state_->steps.push_back(std::move(step));
  if (state_->running) return true;
  try {
    // Detached, because a step may never return: then only the end of the worker ends it.
    std::thread([state = state_] { Run(state); }).detach();
  } catch (const std::system_error&) {
    state_->steps.pop_back();
    return false;
  }
  state_->running = true;
  return true;
}

void LifeThread::Run(const std::shared_ptr<State>& state) {
  pthread_setname_np(pthread_self(), "life-cycle");
  for (;;) {
    std::function<void()> step;
    {
      MutexLock lock(state->mutex);
      if (state->steps.empty()) {
        state->running = false;
        return;
      }
      step = std::move(state->steps.front());
      state->steps.pop_front();
    }
    step();
  }
}

}  // namespace cohost::worker::native
