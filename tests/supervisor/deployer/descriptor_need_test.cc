// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/descriptor_need.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {
namespace {

TEST(DescriptorNeed, GrowsWithListenersAndWorkers) {
  EXPECT_EQ(DescriptorsNeeded(11, 20) - DescriptorsNeeded(10, 20), 1u);
  // Link, channel and segment of two generations, and the log.
  EXPECT_EQ(DescriptorsNeeded(10, 21) - DescriptorsNeeded(10, 20), 7u);
}

TEST(DescriptorNeed, ALimitThatIsJustEnoughPasses) {
  const uint64_t needed = DescriptorsNeeded(400, 100);
  EXPECT_TRUE(CheckDescriptorLimit(400, 100, needed).ok());
  const absl::Status refused = CheckDescriptorLimit(400, 100, needed - 1);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  const std::string message(refused.message());
  EXPECT_NE(message.find(absl::StrCat(needed)), std::string::npos) << message;
  EXPECT_NE(message.find(absl::StrCat(needed - 1)), std::string::npos) << message;
  EXPECT_NE(message.find("ulimit -n"), std::string::npos) << message;
}

TEST(DescriptorNeed, TheLimitIsTheOneInForce) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(DescriptorLimit(), limit.rlim_cur);
}

}  // namespace
}  // namespace cohost::supervisor
