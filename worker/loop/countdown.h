// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "boost/asio/io_context.hpp"

namespace cohost::worker {

// Waits for several things that each end with a call, up to a limit. I/O thread only. What it hands
// out may be called after the limit, too, and after everybody else has forgotten the countdown.
class Countdown {
 public:
  explicit Countdown(boost::asio::io_context& io);

  // One more thing to wait for: call the result when it has ended. Calls beyond the first do
  // nothing.
  std::function<void()> Expect();
  // Calls `done` once, from the loop: when all that was expected has ended (at the next turn when
  // that is so already), or after `limit`, with the number that had not.
  void Wait(absl::Duration limit, std::function<void(uint32_t missing)> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cohost::worker
