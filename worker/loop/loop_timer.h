// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "boost/asio/io_context.hpp"

namespace cohost::worker {

// One timer of the I/O loop. I/O thread only. A timer that was cancelled, started again or
// destroyed does not call its former function, also when that was due already.
class LoopTimer {
 public:
  explicit LoopTimer(boost::asio::io_context& io);
  ~LoopTimer();

  // Calls `due` once after `delay`. Replaces an earlier start.
  void Start(absl::Duration delay, std::function<void()> due);
  void Cancel();
  bool running() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cohost::worker
