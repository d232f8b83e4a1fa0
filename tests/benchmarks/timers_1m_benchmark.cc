// SPDX-License-Identifier: Apache-2.0
//
// timers_1m: that one worker can have 1,000,000 timers. Arms them in worker/loop/timers.h, with
// delays uniform in 1 min to 1 h, and then one more of 1 ms, which has to run. The figure is the
// time that arming one takes; beside it what each adds to the process's memory, and how late the
// one was.
#include <unistd.h>

#include <future>
#include <random>

#include "base/clock.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/process_figures.h"
#include "worker/loop/timers.h"

namespace cohost::benchmarks {
namespace {

constexpr uint32_t kTimers = 1'000'000;
constexpr std::chrono::seconds kLimit(10);

class InlineOwner final : public worker::TimerOwner {
 public:
  explicit InlineOwner(worker::Timers& timers) : timers_(timers) {}

  void OnDue(std::span<const uint64_t> due) override {
    for (const uint64_t timer : due) {
      const auto call = timers_.Begin(timer);
      if (!call) continue;
      call->function(call->data, 0);
      timers_.End(timer);
    }
  }

 private:
  worker::Timers& timers_;
};

void Benchmark() {
  worker::Timers timers(SystemClock());
  InlineOwner owner(timers);
  std::mt19937_64 random(/*seed=*/1);
  std::uniform_int_distribution<int64_t> delay(60'000, 3'600'000);
  const double memory = ProportionalMegabytes(getpid());
  const SteadyTime begin = SystemClock().Steady();
  for (uint32_t i = 0; i < kTimers; ++i) {
    (void)Require(timers.Add(owner, absl::Milliseconds(delay(random)), absl::ZeroDuration(), {}),
                  "Add");
  }
  const absl::Duration taken = SystemClock().Steady() - begin;
  const double used = ProportionalMegabytes(getpid()) - memory;
  if (timers.count(owner) != kTimers) Fail("not all timers are armed");

  std::promise<SteadyTime> ran;
  const worker::TimerCall call = {
      [](void* data, uint32_t) {
        static_cast<std::promise<SteadyTime>*>(data)->set_value(SystemClock().Steady());
      },
      &ran};
  const SteadyTime due = SystemClock().Steady() + absl::Milliseconds(1);
  (void)Require(timers.Add(owner, absl::Milliseconds(1), absl::ZeroDuration(), call), "Add");
  auto time = ran.get_future();
  if (time.wait_for(kLimit) != std::future_status::ready) Fail("the short timer did not run");
  BenchmarkReport("timers_1m", absl::ToDoubleNanoseconds(taken) / kTimers, "ns to arm one")
      .Note("timers", kTimers)
      .Note("bytes_each", used * 1e6 / kTimers)
      .Note("one_more_ms_late", absl::ToDoubleMilliseconds(time.get() - due))
      .Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
