// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/deadline_queue.h"

#include <algorithm>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace cohost::worker {
namespace {

constexpr SteadyTime kUnset;

}  // namespace

struct DeadlineQueue::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

Deadline::~Deadline() { Leave(); }

void Deadline::Leave() {
  Clear();
  if (queue_ != nullptr) queue_->Remove(*this);
}

void Deadline::Set(DeadlineQueue& queue, SteadyTime due) {
  due_ = due;
  if (queue_ != nullptr) {
    if (scheduled_ <= due) return;
    queue.Remove(*this);
  }
  scheduled_ = due;
  queue.Insert(*this);
}

DeadlineQueue::DeadlineQueue(boost::asio::io_context& io, const Clock& clock)
    : clock_(clock), timer_(std::make_unique<Timer>(io)) {}

DeadlineQueue::~DeadlineQueue() = default;

void DeadlineQueue::RunDue() {
  const SteadyTime now = clock_.Steady();
  running_ = true;
  while (!heap_.empty() && heap_.front()->scheduled_ <= now) {
    Deadline& deadline = *heap_.front();
    Remove(deadline);
    if (deadline.due_ == kUnset) continue;
    if (deadline.due_ > now) {
      deadline.scheduled_ = deadline.due_;
      Insert(deadline);
      continue;
    }
    deadline.due_ = kUnset;
    deadline.OnDeadline();
  }
  running_ = false;
  Arm();
}

void DeadlineQueue::Insert(Deadline& deadline) {
  deadline.queue_ = this;
  heap_.push_back(&deadline);
  Place(&deadline, heap_.size() - 1);
  SiftUp(heap_.size() - 1);
  if (!running_ && heap_.front() == &deadline) Arm();
}

void DeadlineQueue::Remove(Deadline& deadline) {
  const size_t position = deadline.position_;
  deadline.queue_ = nullptr;
  Deadline* last = heap_.back();
  heap_.pop_back();
  if (last == &deadline) return;
  Place(last, position);
  SiftUp(position);
  SiftDown(last->position_);
}

void DeadlineQueue::SiftUp(size_t position) {
  while (position > 0) {
    const size_t parent = (position - 1) / 2;
    if (heap_[parent]->scheduled_ <= heap_[position]->scheduled_) return;
    Deadline* above = heap_[parent];
    Place(heap_[position], parent);
    Place(above, position);
    position = parent;
  }
}

void DeadlineQueue::SiftDown(size_t position) {
  for (;;) {
    size_t child = 2 * position + 1;
    if (child >= heap_.size()) return;
    if (child + 1 < heap_.size() && heap_[child + 1]->scheduled_ < heap_[child]->scheduled_) {
      ++child;
    }
    if (heap_[position]->scheduled_ <= heap_[child]->scheduled_) return;
    Deadline* below = heap_[child];
    Place(heap_[position], child);
    Place(below, position);
    position = child;
  }
}

void DeadlineQueue::Place(Deadline* deadline, size_t position) {
  heap_[position] = deadline;
  deadline->position_ = position;
}

void DeadlineQueue::Arm() {
  if (heap_.empty()) {
    timer_->timer.cancel();
    armed_ = kUnset;
    return;
  }
  const SteadyTime first = heap_.front()->scheduled_;
  if (armed_ != kUnset && armed_ <= first) return;
  armed_ = first;
  const absl::Duration delay = std::max(absl::ZeroDuration(), first - clock_.Steady());
  timer_->timer.expires_after(
      std::chrono::nanoseconds(std::max<int64_t>(absl::ToInt64Nanoseconds(delay), 0)));
  timer_->timer.async_wait([this](const boost::system::error_code& error) {
    // Cancelled: the queue is gone, or the timer was started again.
    if (error) return;
    armed_ = kUnset;
    RunDue();
  });
}

}  // namespace cohost::worker
