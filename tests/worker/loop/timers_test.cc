// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/timers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>

namespace cohost::worker {
namespace {

// Runs its timers on the timer thread, or only collects their numbers.
class Owner final : public TimerOwner {
 public:
  explicit Owner(Timers*& timers, bool run = true) : timers_(timers), run_(run) {}

  void OnDue(std::span<const uint64_t> timers) override {
    for (const uint64_t timer : timers) {
      if (run_) Run(timer);
      MutexLock lock(mutex_);
      due_.push_back(timer);
      changed_.NotifyAll();
    }
  }
  void Run(uint64_t timer) {
    const std::optional<TimerCall> call = timers_->Begin(timer);
    if (!call) return;
    call->function(call->data, 1);
    timers_->End(timer);
  }
  bool WaitForDue(size_t count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    MutexLock lock(mutex_);
    while (due_.size() < count) {
      if (!changed_.WaitUntil(mutex_, end)) return due_.size() >= count;
    }
    return true;
  }
  std::vector<uint64_t> due() {
    MutexLock lock(mutex_);
    return due_;
  }

 private:
  Timers*& timers_;
  const bool run_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<uint64_t> due_ ABSL_GUARDED_BY(mutex_);
};

class TimersTest : public ::testing::Test {
 protected:
  TimersTest() : collected_(timers_pointer_, /*run=*/false), run_(timers_pointer_) {}

  static void Count(void* data, uint32_t) { ++*static_cast<std::atomic<int>*>(data); }
  uint64_t Add(Owner& owner, absl::Duration delay, absl::Duration period) {
    return *timers_->Add(owner, delay, period, {Count, &count_, true});
  }

  std::unique_ptr<Timers> timers_ = std::make_unique<Timers>(SystemClock());
  Timers* timers_pointer_ = timers_.get();
  Owner collected_;
  Owner run_;
  std::atomic<int> count_{0};
};

TEST_F(TimersTest, RunsOnceAndNotEarly) {
  const SteadyTime begin = SystemClock().Steady();
  Add(run_, absl::Milliseconds(15), absl::ZeroDuration());
  ASSERT_TRUE(run_.WaitForDue(1));
  EXPECT_GE(SystemClock().Steady() - begin, absl::Milliseconds(15));
  EXPECT_EQ(count_, 1);
  EXPECT_EQ(timers_->count(run_), 0u);
}

TEST_F(TimersTest, APeriodicOneRunsUntilItIsCancelled) {
  const uint64_t timer = Add(run_, absl::Milliseconds(1), absl::Milliseconds(1));
  ASSERT_TRUE(run_.WaitForDue(5));
  EXPECT_NE(timers_->Cancel(run_, timer), Timers::CancelResult::kGone);
  EXPECT_EQ(timers_->Cancel(run_, timer), Timers::CancelResult::kGone);
}

TEST_F(TimersTest, OneThatWasCancelledWhileDueDoesNotBegin) {
  const uint64_t timer = Add(collected_, absl::ZeroDuration(), absl::ZeroDuration());
  ASSERT_TRUE(collected_.WaitForDue(1));
  EXPECT_EQ(timers_->Cancel(collected_, timer), Timers::CancelResult::kCancelled);
  EXPECT_FALSE(timers_->Begin(timer).has_value());
}

TEST_F(TimersTest, CancellingARunningOneSaysSoAndEndsItsPeriod) {
  const uint64_t timer = Add(collected_, absl::ZeroDuration(), absl::Milliseconds(1));
  ASSERT_TRUE(collected_.WaitForDue(1));
  ASSERT_TRUE(timers_->Begin(timer).has_value());
  EXPECT_FALSE(timers_->Begin(timer).has_value());
  EXPECT_EQ(timers_->Cancel(collected_, timer), Timers::CancelResult::kRunning);
  timers_->End(timer);
  EXPECT_EQ(timers_->count(collected_), 0u);
}

TEST_F(TimersTest, ALongRunLeavesMissedPeriodsOut) {
  const uint64_t timer = Add(collected_, absl::ZeroDuration(), absl::Milliseconds(1));
  ASSERT_TRUE(collected_.WaitForDue(1));
  ASSERT_TRUE(timers_->Begin(timer).has_value());
  // It is not due again while it runs, however long that takes.
  const uint64_t other = Add(collected_, absl::Milliseconds(20), absl::ZeroDuration());
  ASSERT_TRUE(collected_.WaitForDue(2));
  EXPECT_EQ(collected_.due(), (std::vector<uint64_t>{timer, other}));
  timers_->End(timer);
  ASSERT_TRUE(collected_.WaitForDue(3));
  EXPECT_EQ(collected_.due().back(), timer);
}

TEST_F(TimersTest, AnotherOwnerCannotCancel) {
  const uint64_t timer = Add(collected_, absl::Hours(1), absl::ZeroDuration());
  EXPECT_EQ(timers_->Cancel(run_, timer), Timers::CancelResult::kGone);
  EXPECT_EQ(timers_->count(collected_), 1u);
}

TEST_F(TimersTest, TakeAllReturnsTheCallsOfOneOwnerOnly) {
  Add(collected_, absl::Hours(1), absl::ZeroDuration());
  Add(collected_, absl::Hours(2), absl::Hours(2));
  Add(run_, absl::Hours(1), absl::ZeroDuration());
  EXPECT_EQ(timers_->TakeAll(collected_).size(), 2u);
  EXPECT_EQ(timers_->count(collected_), 0u);
  EXPECT_EQ(timers_->count(run_), 1u);
}

TEST_F(TimersTest, ANearerTimerWakesASleepingThread) {
  Add(run_, absl::Hours(1), absl::ZeroDuration());
  Add(run_, absl::Milliseconds(1), absl::ZeroDuration());
  EXPECT_TRUE(run_.WaitForDue(1));
}

TEST_F(TimersTest, AMillionAreTakenAndOneMoreIsRefused) {
  for (size_t i = 0; i < Timers::kMaxTimers; ++i) {
    ASSERT_NE(Add(collected_, absl::Hours(1) + absl::Milliseconds(i), absl::ZeroDuration()), 0u);
  }
  const auto refused = timers_->Add(collected_, absl::Hours(1), absl::ZeroDuration(), {});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(timers_->TakeAll(collected_).size(), Timers::kMaxTimers);
}

}  // namespace
}  // namespace cohost::worker
