// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/loop_timer.h"

#include <cstdint>
#include <utility>

#include "boost/asio/steady_timer.hpp"

namespace cohost::worker {

struct LoopTimer::State {
  explicit State(boost::asio::io_context& io) : timer(io) {}

  boost::asio::steady_timer timer;
  std::function<void()> due;
  // Asio may have queued the handler of an earlier start: it carries another number.
  uint64_t start = 0;
};

LoopTimer::LoopTimer(boost::asio::io_context& io) : state_(std::make_shared<State>(io)) {}

LoopTimer::~LoopTimer() { Cancel(); }

void LoopTimer::Start(absl::Duration delay, std::function<void()> due) {
  State& state = *state_;
  state.due = std::move(due);
  const uint64_t start = ++state.start;
  state.timer.expires_after(absl::ToChronoNanoseconds(delay));
  state.timer.async_wait([shared = state_, start](boost::system::error_code) {
    if (shared->start != start) return;
    if (auto function = std::exchange(shared->due, nullptr)) function();
  });
}

void LoopTimer::Cancel() {
  state_->due = nullptr;
  ++state_->start;
  state_->timer.cancel();
}

bool LoopTimer::running() const { return state_->due != nullptr; }

}  // namespace cohost::worker
