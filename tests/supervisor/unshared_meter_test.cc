// SPDX-License-Identifier: Apache-2.0
#include "supervisor/unshared_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>

#include "tests/supervisor/pool/group_world.h"
#include "tests/support/wait.h"

namespace cohost::supervisor {
namespace {

// Real figures of this process in place of the present workers; the samples' processes are those of
// a fake launcher, which are none. What a real one gives is in integration/memory_test.
class UnsharedMeterTest : public ::testing::Test {
 protected:
  UnsharedMeterTest() {
    world_.on_exit = [this](const GenerationId&, const ExitRecord& record) {
      samples_.HandleExit(record);
    };
    for (uint64_t id = 1; id <= 3; ++id) group_.services.push_back(world_.Service(id));
  }

  void Measure(uint32_t samples) {
    meter_.Measure({{group_}}, samples,
                   [this](absl::StatusOr<UnsharedMemory> memory) { outcome_ = memory; });
  }
  // The sampler works on a thread of its own.
  bool WaitUntil(const std::function<bool()>& condition) {
    return testing::Eventually([&] {
      world_.Settle();
      return condition();
    });
  }
  bool WaitForOutcome() {
    return WaitUntil([this] { return outcome_.has_value(); });
  }

  GroupWorld world_;
  GroupTarget group_ = GroupWorld::Group({});
  std::vector<ListedFile> files_;
  MemoryMeter memory_{
      MemoryMeterParts{world_.loop, world_.time, world_.time,
                       [] {
                         HostSnapshot snapshot;
                         snapshot.keeper_pid = snapshot.supervisor_pid = getpid();
                         return snapshot;
                       },
                       [this]() -> const std::vector<ListedFile>& { return files_; }, [] {}, 1}};
  SampleWorkers samples_{world_.parts, 0};
  UnsharedMeter meter_{memory_, samples_};
  std::optional<absl::StatusOr<UnsharedMemory>> outcome_;
};

TEST_F(UnsharedMeterTest, WithoutAServiceToSampleItSaysSo) {
  group_.services.clear();
  Measure(4);
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(outcome_->status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(UnsharedMeterTest, WhenNoneCanBeStartedTheFirstReasonIsToldAndNothingIsLeft) {
  for (const char* name : {"s1", "s2", "s3"})
    world_.workers.behaviour.failing[name] = "no database";
  Measure(16);
  ASSERT_TRUE(WaitForOutcome());
  EXPECT_EQ(outcome_->status().code(), absl::StatusCode::kAborted);
  EXPECT_NE(outcome_->status().message().find("'s1': no database"), std::string::npos)
      << outcome_->status();
  EXPECT_TRUE(world_.workers.Names().empty());
  EXPECT_EQ(samples_.LastGeneration("", 0), 3u) << "each was tried once";
}

TEST_F(UnsharedMeterTest, OneMeasurementAtATime) {
  Measure(1);
  std::optional<absl::StatusOr<UnsharedMemory>> second;
  meter_.Measure({{group_}}, 1, [&](absl::StatusOr<UnsharedMemory> memory) { second = memory; });
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(WaitForOutcome());
  outcome_.reset();
  Measure(1);
  EXPECT_FALSE(outcome_.has_value()) << "the next one may begin";
  EXPECT_TRUE(WaitForOutcome());
}

TEST_F(UnsharedMeterTest, StopEndsTheSampleAndAnswers) {
  world_.workers.behaviour.hanging = {"s1", "s2", "s3"};
  Measure(3);
  ASSERT_TRUE(WaitUntil([this] { return !world_.workers.Names().empty(); }));
  ASSERT_EQ(world_.workers.Names().size(), 1u);
  bool stopped = false;
  meter_.Stop([&stopped] { stopped = true; });
  world_.Pass(absl::Minutes(2));
  EXPECT_TRUE(stopped);
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(outcome_->status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(world_.workers.Names().empty());
  outcome_.reset();
  Measure(1);
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(outcome_->status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace cohost::supervisor
