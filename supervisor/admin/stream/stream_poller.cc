// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/stream/stream_poller.h"

#include <chrono>
#include <utility>

namespace cohost::supervisor {
namespace {

// What a person who follows a log takes for "at once"; costs a few stat(2) a file.
constexpr auto kInterval = std::chrono::milliseconds(200);

}  // namespace

StreamPoller::~StreamPoller() {
  std::optional<std::thread> thread;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    thread.swap(thread_);
    changed_.NotifyAll();
  }
  if (thread) thread->join();
}

void StreamPoller::Add(const std::shared_ptr<Polled>& polled) {
  MutexLock lock(mutex_);
  if (stopping_) return;
  polled_.push_back(polled);
  if (!thread_) thread_.emplace([this] { Run(); });
  woken_ = true;
  changed_.NotifyAll();
}

void StreamPoller::Wake() {
  MutexLock lock(mutex_);
  woken_ = true;
  changed_.NotifyAll();
}

std::vector<std::shared_ptr<Polled>> StreamPoller::TakeAlive() {
  std::vector<std::shared_ptr<Polled>> alive;
  std::vector<std::weak_ptr<Polled>> kept;
  for (const std::weak_ptr<Polled>& weak : polled_) {
    if (auto polled = weak.lock()) {
      alive.push_back(std::move(polled));
      kept.push_back(weak);
    }
  }
  polled_ = std::move(kept);
  return alive;
}

void StreamPoller::Run() {
  while (true) {
    std::vector<std::shared_ptr<Polled>> alive;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && !woken_) {
        if (polled_.empty()) {
          changed_.Wait(mutex_);
        } else if (!changed_.WaitUntil(mutex_, std::chrono::steady_clock::now() + kInterval)) {
          break;
        }
      }
      if (stopping_) return;
      woken_ = false;
      alive = TakeAlive();
    }
    for (const std::shared_ptr<Polled>& polled : alive) polled->Poll();
  }
}

}  // namespace cohost::supervisor
