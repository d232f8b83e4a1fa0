// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/mutex.h"

namespace boost::asio {
class io_context;
}

namespace cohost::worker {

// Something that other threads tell the I/O loop to look at.
class InboxItem {
 public:
  virtual ~InboxItem() = default;
  // I/O thread.
  virtual void OnLoop() = 0;

 private:
  friend class LoopInbox;
  std::atomic<bool> waiting_{false};
};

// Brings items to the I/O loop, many with one wake-up. An item that is pushed again before its
// OnLoop has begun comes once. Push is thread-safe; everything else is the I/O thread's. Items that
// are pushed when the loop no longer runs are dropped with it.
class LoopInbox {
 public:
  explicit LoopInbox(boost::asio::io_context& io);
  ~LoopInbox();
  LoopInbox(const LoopInbox&) = delete;
  LoopInbox& operator=(const LoopInbox&) = delete;

  void Push(std::shared_ptr<InboxItem> item);

 private:
  struct State;
  static void Deliver(const std::shared_ptr<State>& state);

  boost::asio::io_context& io_;
  const std::shared_ptr<State> state_;
};

}  // namespace cohost::worker
