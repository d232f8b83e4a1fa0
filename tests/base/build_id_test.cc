// SPDX-License-Identifier: Apache-2.0
#include "base/build_id.h"

#include <algorithm>
#include <cctype>

#include "gtest/gtest.h"

namespace cohost {
namespace {

TEST(BuildId, IsThatOfThisExecutable) {
  const std::string id = BuildId();
  EXPECT_EQ(id.size(), 32U) << id;
  EXPECT_TRUE(std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f');
  })) << id;
  EXPECT_EQ(BuildId(), id);
}

}  // namespace
}  // namespace cohost
