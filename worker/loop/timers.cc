// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/timers.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <system_error>
#include <utility>

namespace cohost::worker {
namespace {

constexpr int64_t kTickNs = 1'000'000;
// Far beyond every real limit, and far from overflowing when it is added to now.
constexpr int64_t kLongestNs = std::numeric_limits<int64_t>::max() / 4;

int64_t Nanoseconds(absl::Duration duration) {
  return std::clamp<int64_t>(absl::ToInt64Nanoseconds(duration), 0, kLongestNs);
}

// The first tick at which a timer due at that time is not early.
uint64_t TickOf(int64_t due_ns) { return static_cast<uint64_t>((due_ns + kTickNs - 1) / kTickNs); }

}  // namespace

Timers::Timers(const Clock& clock)
    : clock_(clock), wheel_(static_cast<uint64_t>(clock.Steady().nanoseconds / kTickNs)) {}

Timers::~Timers() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
    changed_.NotifyAll();
  }
  if (thread.joinable()) thread.join();
}

absl::StatusOr<uint64_t> Timers::Add(TimerOwner& owner, absl::Duration delay, absl::Duration period,
                                     TimerCall call) {
  const int64_t now = clock_.Steady().nanoseconds;
  MutexLock lock(mutex_);
  if (timers_.size() - free_.size() >= kMaxTimers) {
    return absl::ResourceExhaustedError("too many timers in this worker");
  }
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error&) {
      return absl::ResourceExhaustedError("cannot start the timer thread");
    }
  }
  uint32_t index = static_cast<uint32_t>(timers_.size());
  if (free_.empty()) {
    timers_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Timer& timer = timers_[index];
  timer.owner = &owner;
  timer.call = call;
  timer.due_ns = now + Nanoseconds(delay);
  timer.period_ns = Nanoseconds(period);
  ++timer.generation;
  ++owner.timers_;
  Arm(index);
  return IdOf(index);
}

Timers::CancelResult Timers::Cancel(TimerOwner& owner, uint64_t timer) {
  MutexLock lock(mutex_);
  Timer* found = Find(timer);
  if (found == nullptr || found->owner != &owner) return CancelResult::kGone;
  switch (found->state) {
    case State::kArmed:
    case State::kDue:
      Free(static_cast<uint32_t>(timer));
      return CancelResult::kCancelled;
    case State::kRunning:
      found->state = State::kRunningLast;
      return CancelResult::kRunning;
    case State::kRunningLast:
    case State::kFree:
      return CancelResult::kGone;
  }
  return CancelResult::kGone;
}

std::optional<TimerCall> Timers::Begin(uint64_t timer) {
  MutexLock lock(mutex_);
  return Begin(Find(timer));
}

std::optional<TimerCall> Timers::BeginOnTimerThread(uint64_t timer) {
  MutexLock lock(mutex_);
  Timer* found = Find(timer);
  if (found == nullptr || !found->call.on_timer_thread) return std::nullopt;
  return Begin(found);
}

std::optional<TimerCall> Timers::Begin(Timer* timer) {
  if (timer == nullptr || timer->state != State::kDue) return std::nullopt;
  timer->state = timer->period_ns == 0 ? State::kRunningLast : State::kRunning;
  return timer->call;
}

void Timers::End(uint64_t timer) {
  const int64_t now = clock_.Steady().nanoseconds;
  MutexLock lock(mutex_);
  Timer* found = Find(timer);
  if (found == nullptr) return;
  const auto index = static_cast<uint32_t>(timer);
  if (found->state != State::kRunning) {
    Free(index);
    return;
  }
  const int64_t missed = std::max<int64_t>(0, now - found->due_ns) / found->period_ns;
  found->due_ns += (missed + 1) * found->period_ns;
  Arm(index);
}

std::vector<TimerCall> Timers::TakeAll(TimerOwner& owner) {
  std::vector<TimerCall> taken;
  MutexLock lock(mutex_);
  for (uint32_t index = 0; index < timers_.size() && owner.timers_ != 0; ++index) {
    Timer& timer = timers_[index];
    if (timer.owner != &owner) continue;
    if (timer.state == State::kRunning) timer.state = State::kRunningLast;
    if (timer.state != State::kArmed && timer.state != State::kDue) continue;
    taken.push_back(timer.call);
    Free(index);
  }
  return taken;
}

uint32_t Timers::count(const TimerOwner& owner) const {
  MutexLock lock(mutex_);
  return owner.timers_;
}

void Timers::Run() {
  pthread_setname_np(pthread_self(), "timers");
  MutexLock lock(mutex_);
  while (!stopping_) {
    wheel_.Advance(static_cast<uint64_t>(clock_.Steady().nanoseconds / kTickNs), due_);
    if (due_.empty()) {
      Sleep();
    } else {
      Dispatch();
    }
  }
}

void Timers::Dispatch() {
  std::vector<std::pair<TimerOwner*, uint64_t>> due;
  due.reserve(due_.size());
  for (const uint32_t index : due_) {
    timers_[index].state = State::kDue;
    due.emplace_back(timers_[index].owner, IdOf(index));
  }
  due_.clear();
  mutex_.Unlock();
  // One call per owner, each with its timers in the order in which they were due.
  std::stable_sort(due.begin(), due.end(),
                   [](const auto& a, const auto& b) { return std::less<>()(a.first, b.first); });
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < due.size(); ++i) {
    ids.push_back(due[i].second);
    if (i + 1 < due.size() && due[i + 1].first == due[i].first) continue;
    due[i].first->OnDue(ids);
    ids.clear();
  }
  mutex_.Lock();
}

void Timers::Sleep() {
  const std::optional<uint64_t> next = wheel_.NextTick();
  if (!next) {
    sleeping_until_ = std::numeric_limits<uint64_t>::max();
    changed_.Wait(mutex_);
  } else {
    sleeping_until_ = *next;
    const auto due = std::chrono::nanoseconds(static_cast<int64_t>(*next) * kTickNs);
    (void)changed_.WaitUntil(mutex_, std::chrono::steady_clock::time_point(due));
  }
  sleeping_until_ = 0;
}

void Timers::Arm(uint32_t index) {
  Timer& timer = timers_[index];
  timer.state = State::kArmed;
  // The wheel may lag behind the clock while the thread sleeps; its next Advance catches up.
  const uint64_t tick = TickOf(timer.due_ns);
  wheel_.Insert(index, tick);
  if (tick < sleeping_until_) changed_.NotifyOne();
}

void Timers::Free(uint32_t index) {
  Timer& timer = timers_[index];
  wheel_.Remove(index);
  --timer.owner->timers_;
  timer.owner = nullptr;
  timer.state = State::kFree;
  free_.push_back(index);
}

Timers::Timer* Timers::Find(uint64_t timer) {
  const auto index = static_cast<uint32_t>(timer);
  if (index >= timers_.size()) return nullptr;
  Timer& found = timers_[index];
  if (found.state == State::kFree || found.generation != timer >> 32) return nullptr;
  return &found;
}

uint64_t Timers::IdOf(uint32_t index) const {
  return uint64_t{timers_[index].generation} << 32 | index;
}

}  // namespace cohost::worker
