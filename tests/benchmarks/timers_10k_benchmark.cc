// SPDX-License-Identifier: Apache-2.0
//
// timers_10k: 10,000 periodic timers with periods uniform in 1 ms to 5 s (some 16,000 calls a
// second) for 5 s, in worker/loop/timers.h as a worker runs those that promise not to block: on the
// timer thread. The peer of the same run is the least that can do the same: a ring of buckets of
// 1 ms on one thread, without locks, cancelling, owners or limits. Three turns each.
//   timers_10k      99th percentile of how late calls were
//   timers_10k_cpu  CPU time of the process (user and system) per second; the ratio is the median
//   of
//                   the turns' ratios
#include <time.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "tests/benchmarks/benchmark_report.h"
#include "worker/loop/timers.h"

namespace cohost::benchmarks {
namespace {

constexpr size_t kTimers = 10'000;
constexpr int kTurns = 3;
constexpr int64_t kSeconds = 5;
constexpr int64_t kTickNs = 1'000'000;

int64_t Now() { return SystemClock().Steady().nanoseconds; }

// The same periods for everybody.
std::vector<int64_t> Periods() {
  std::mt19937_64 random(/*seed=*/1);
  std::uniform_int_distribution<int64_t> period(1'000'000, 5'000'000'000);
  std::vector<int64_t> periods(kTimers);
  for (int64_t& each : periods) each = period(random);
  return periods;
}

// What every call does: notes how late it is. One thread.
struct Task {
  int64_t period_ns = 0;
  int64_t due_ns = 0;
  std::vector<double>* lateness = nullptr;  // milliseconds

  void Run() {
    const int64_t late = Now() - due_ns;
    lateness->push_back(static_cast<double>(late) / 1e6);
    due_ns += (late / period_ns + 1) * period_ns;
  }
};

struct Turn {
  double cpu_milliseconds_per_second;
  std::vector<double> lateness;
};

double ProcessCpuMilliseconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

class InlineOwner final : public worker::TimerOwner {
 public:
  explicit InlineOwner(worker::Timers& timers) : timers_(timers) {}

  void OnDue(std::span<const uint64_t> due) override {
    for (const uint64_t timer : due) {
      const auto call = timers_.BeginOnTimerThread(timer);
      if (!call) continue;
      call->function(call->data, 0);
      timers_.End(timer);
    }
  }

 private:
  worker::Timers& timers_;
};

Turn MeasureTimers(const std::vector<int64_t>& periods) {
  Turn turn;
  turn.lateness.reserve(kTimers * 2 * kSeconds);
  std::vector<Task> tasks(kTimers);
  {
    worker::Timers timers(SystemClock());
    InlineOwner owner(timers);
    for (size_t i = 0; i < kTimers; ++i) {
      tasks[i] = {periods[i], Now() + periods[i], &turn.lateness};
      const worker::TimerCall call = {[](void* data, uint32_t) { static_cast<Task*>(data)->Run(); },
                                      &tasks[i],
                                      /*on_timer_thread=*/true};
      const absl::Duration period = absl::Nanoseconds(periods[i]);
      (void)Require(timers.Add(owner, period, period, call), "Add");
    }
    const double before = ProcessCpuMilliseconds();
    std::this_thread::sleep_for(std::chrono::seconds(kSeconds));
    turn.cpu_milliseconds_per_second = (ProcessCpuMilliseconds() - before) / kSeconds;
  }
  return turn;
}

void SleepUntil(int64_t time_ns) {
  const timespec until = {time_ns / 1'000'000'000, time_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

Turn MeasureBuckets(const std::vector<int64_t>& periods) {
  constexpr size_t kBuckets = 8192;  // longer than the longest period
  Turn turn;
  turn.lateness.reserve(kTimers * 2 * kSeconds);
  std::vector<Task> tasks(kTimers);
  auto buckets = std::make_unique<std::array<std::vector<Task*>, kBuckets>>();
  const auto insert = [&buckets](Task& task) {
    const int64_t tick = (task.due_ns + kTickNs - 1) / kTickNs;
    (*buckets)[static_cast<size_t>(tick) % kBuckets].push_back(&task);
  };
  for (size_t i = 0; i < kTimers; ++i) {
    tasks[i] = {periods[i], Now() + periods[i], &turn.lateness};
    insert(tasks[i]);
  }
  const double before = ProcessCpuMilliseconds();
  const int64_t end = Now() + kSeconds * 1'000'000'000;
  std::vector<Task*> due;
  for (int64_t tick = Now() / kTickNs; Now() < end; ++tick) {
    SleepUntil(tick * kTickNs);
    due.swap((*buckets)[static_cast<size_t>(tick) % kBuckets]);
    for (Task* task : due) {
      task->Run();
      insert(*task);
    }
    due.clear();
  }
  turn.cpu_milliseconds_per_second = (ProcessCpuMilliseconds() - before) / kSeconds;
  return turn;
}

void Benchmark() {
  const std::vector<int64_t> periods = Periods();
  std::vector<double> late, bare_late, cpu, bare_cpu, ratios;
  double calls = 0;
  for (int i = 0; i < kTurns; ++i) {
    Turn timers = MeasureTimers(periods);
    Turn bare = MeasureBuckets(periods);
    calls = static_cast<double>(timers.lateness.size()) / kSeconds;
    late.push_back(Percentile(timers.lateness, 0.99));
    bare_late.push_back(Percentile(bare.lateness, 0.99));
    cpu.push_back(timers.cpu_milliseconds_per_second);
    bare_cpu.push_back(bare.cpu_milliseconds_per_second);
    ratios.push_back(cpu.back() / bare_cpu.back());
  }
  constexpr char kPeer[] = "bare ring of 1 ms buckets on one thread";
  BenchmarkReport("timers_10k", Median(late), "ms late (p99)")
      .Compare(kPeer, Median(bare_late))
      .Note("calls_per_second", calls)
      .Print();
  BenchmarkReport("timers_10k_cpu", Median(cpu), "ms per second")
      .Compare(kPeer, Median(bare_cpu), Median(ratios))
      .Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
