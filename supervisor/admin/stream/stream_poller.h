// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace cohost::supervisor {

// Something to look at again and again: a log file, a service's health.
class Polled {
 public:
  virtual ~Polled() = default;
  // On the poller's thread. May read files; never waits for a client.
  virtual void Poll() = 0;
};

// One thread for all streams whose source has no callback: it polls every kInterval while there are
// any, and sleeps otherwise. Thread-safe. The destructor waits for the Poll() that is running.
class StreamPoller {
 public:
  StreamPoller() = default;
  ~StreamPoller();
  StreamPoller(const StreamPoller&) = delete;
  StreamPoller& operator=(const StreamPoller&) = delete;

  // Polls it soon and until nobody owns it any more.
  void Add(const std::shared_ptr<Polled>& polled);
  // Polls all soon.
  void Wake();

 private:
  void Run();
  std::vector<std::shared_ptr<Polled>> TakeAlive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::weak_ptr<Polled>> polled_ ABSL_GUARDED_BY(mutex_);
  // Started with the first stream.
  std::optional<std::thread> thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::supervisor
