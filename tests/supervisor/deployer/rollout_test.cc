// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/manual_time.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using State = SlotRollout::State;

class RolloutTest : public ::testing::Test {
 protected:
  void Begin(absl::Duration soak = absl::ZeroDuration()) {
    RolloutSettings settings;
    settings.group = "shop";
    settings.slots = [this] { return slots_; };
    settings.limit = absl::Seconds(60);
    settings.soak = soak;
    rollout_ = std::make_unique<Rollout>(time_, std::move(settings),
                                         [this](auto done) { outcome_ = std::move(done); });
    rollout_->Look();
  }
  void Set(std::vector<SlotRollout> slots) {
    slots_ = std::move(slots);
    rollout_->Look();
  }
  absl::StatusCode Code() const { return outcome_->status().code(); }

  ManualTime time_;
  std::vector<SlotRollout> slots_ = {{0, State::kWaiting, ""}, {1, State::kWaiting, ""}};
  std::optional<absl::StatusOr<std::vector<std::string>>> outcome_;
  std::unique_ptr<Rollout> rollout_;
};

TEST_F(RolloutTest, IsDoneWhenAllServe) {
  Begin();
  Set({{0, State::kServes, ""}, {1, State::kWaiting, ""}});
  EXPECT_FALSE(outcome_.has_value());
  Set({{0, State::kServes, ""}, {1, State::kServes, ""}});
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_THAT(**outcome_, ElementsAre("shop/0", "shop/1"));
  outcome_.reset();
  Set({});
  time_.Pass(absl::Hours(1));
  time_.RunDue();
  EXPECT_FALSE(outcome_.has_value());
}

TEST_F(RolloutTest, EndsWithTheReasonOfTheFirstThatRefuses) {
  Begin();
  Set({{0, State::kServes, ""}, {1, State::kFailed, "no database"}});
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(Code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(outcome_->status().message(), "worker shop/1: no database");
}

TEST_F(RolloutTest, EndsAtItsLimitAndNamesWhoIsLate) {
  Begin();
  Set({{0, State::kServes, ""}, {1, State::kWaiting, ""}});
  time_.Pass(absl::Seconds(60));
  time_.RunDue();
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(Code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(outcome_->status().message()), HasSubstr("shop/1"));
}

TEST_F(RolloutTest, EndsWhenNobodyIsAskedAnyMore) {
  Begin();
  Set({});
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(Code(), absl::StatusCode::kAborted);
}

TEST_F(RolloutTest, ABreakBeginsTheSoakAnew) {
  slots_ = {{0, State::kServes, ""}};
  Begin(absl::Seconds(10));
  time_.Pass(absl::Seconds(9));
  time_.RunDue();
  Set({{0, State::kWaiting, ""}});
  Set({{0, State::kServes, ""}});
  time_.Pass(absl::Seconds(9));
  time_.RunDue();
  EXPECT_FALSE(outcome_.has_value());
  time_.Pass(absl::Seconds(1));
  time_.RunDue();
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_TRUE(outcome_->ok());
}

TEST_F(RolloutTest, EndedEarlyItTellsNobody) {
  Begin();
  rollout_.reset();
  time_.Pass(absl::Hours(1));
  time_.RunDue();
  EXPECT_FALSE(outcome_.has_value());
}

}  // namespace
}  // namespace cohost::supervisor
