// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/request_table.h"

#include <string>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

class StillClock final : public Clock {
 public:
  SteadyTime Steady() const override { return now; }
  absl::Time Wall() const override { return absl::UnixEpoch(); }
  SteadyTime now{1};
};

class RequestTableTest : public testing::Test {
 protected:
  absl::StatusOr<bool> Join(const RequestTable::Key& key, const std::string& fingerprint) {
    return table_.Join(key, fingerprint, [this](const RequestTable::Outcome& outcome) {
      ++answers_;
      last_ = outcome.response;
    });
  }

  StillClock clock_;
  RequestTable table_{clock_};
  int answers_ = 0;
  std::string last_;
};

TEST_F(RequestTableTest, OnlyTheFirstCallRuns) {
  EXPECT_TRUE(*Join({0, "a"}, "stop x"));
  EXPECT_FALSE(*Join({0, "a"}, "stop x"));
  EXPECT_EQ(answers_, 0) << "the first has no outcome yet";
  table_.Complete({0, "a"}, {absl::OkStatus(), "done"});
  EXPECT_EQ(answers_, 1);
  EXPECT_EQ(last_, "done");
  EXPECT_FALSE(*Join({0, "a"}, "stop x"));
  EXPECT_EQ(answers_, 2);
}

TEST_F(RequestTableTest, IdsOfTwoUsersAreTwoIds) {
  EXPECT_TRUE(*Join({0, "a"}, "stop x"));
  EXPECT_TRUE(*Join({1, "a"}, "stop y"));
}

TEST_F(RequestTableTest, AnIdOfAnotherCallIsRefused) {
  EXPECT_TRUE(*Join({0, "a"}, "stop x"));
  EXPECT_EQ(Join({0, "a"}, "stop y").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RequestTableTest, AnOutcomeIsKeptForTenMinutesFromItsCompletion) {
  EXPECT_TRUE(*Join({0, "a"}, "stop x"));
  clock_.now = clock_.now + absl::Minutes(20);
  EXPECT_FALSE(*Join({0, "a"}, "stop x"));
  table_.Complete({0, "a"}, {});
  clock_.now = clock_.now + (RequestTable::kKept - absl::Seconds(1));
  EXPECT_FALSE(*Join({0, "a"}, "stop x"));
  clock_.now = clock_.now + absl::Seconds(1);
  EXPECT_TRUE(*Join({0, "a"}, "stop x"));
}

TEST_F(RequestTableTest, AFullTableRefusesUntilTimeHasPassed) {
  for (size_t i = 0; i < RequestTable::kLimit; ++i) {
    const RequestTable::Key key{0, std::to_string(i)};
    ASSERT_TRUE(*Join(key, "stop x"));
    table_.Complete(key, {});
  }
  EXPECT_EQ(Join({0, "more"}, "stop x").status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(*Join({0, "0"}, "stop x")) << "what is known is still answered";
  clock_.now = clock_.now + RequestTable::kKept;
  EXPECT_TRUE(*Join({0, "more"}, "stop x"));
}

}  // namespace
}  // namespace cohost::supervisor
