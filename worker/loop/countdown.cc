// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/countdown.h"

#include <utility>

#include "boost/asio/post.hpp"
#include "worker/loop/loop_timer.h"

namespace cohost::worker {

struct Countdown::State : std::enable_shared_from_this<State> {
  explicit State(boost::asio::io_context& loop) : io(loop), timer(loop) {}

  void EndIfComplete() {
    if (done == nullptr || missing > 0) return;
    boost::asio::post(io, [self = shared_from_this()] { self->End(); });
  }

  void End() {
    timer.Cancel();
    if (auto function = std::exchange(done, nullptr)) function(missing);
  }

  boost::asio::io_context& io;
  LoopTimer timer;
  uint32_t missing = 0;
  std::function<void(uint32_t)> done;
};

Countdown::Countdown(boost::asio::io_context& io) : state_(std::make_shared<State>(io)) {}

std::function<void()> Countdown::Expect() {
  ++state_->missing;
  return [state = state_, called = std::make_shared<bool>(false)] {
    if (std::exchange(*called, true)) return;
    --state->missing;
    state->EndIfComplete();
  };
}

void Countdown::Wait(absl::Duration limit, std::function<void(uint32_t missing)> done) {
  state_->done = std::move(done);
  state_->timer.Start(limit, [state = state_] { state->End(); });
  state_->EndIfComplete();
}

}  // namespace cohost::worker
