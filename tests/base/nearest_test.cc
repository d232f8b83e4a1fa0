// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cohost {
namespace {

TEST(EditDistance, CountsChanges) {
  EXPECT_EQ(EditDistance("queue", "queue", 3), 0u);
  EXPECT_EQ(EditDistance("queue", "queu", 3), 1u);
  EXPECT_EQ(EditDistance("queue", "qeuue", 3), 1u);  // swapped
  EXPECT_EQ(EditDistance("queue", "Queues", 3), 2u);
  EXPECT_EQ(EditDistance("", "abc", 3), 3u);
  EXPECT_EQ(EditDistance("", "", 3), 0u);
}

TEST(EditDistance, StopsAtTheLimit) {
  EXPECT_EQ(EditDistance("abc", "xyz", 1), 2u);
  EXPECT_EQ(EditDistance(std::string(1'000'000, 'a'), "abc", 5), 6u);
}

TEST(FindNearest, WantsANearOne) {
  const std::vector<std::string> names = {"steady", "latency", "batch"};
  const auto nearest = [&names](const std::string& name) -> std::string {
    const auto found = FindNearest(names, name, [](const std::string& each) { return each; });
    return found == names.end() ? "" : *found;
  };
  EXPECT_EQ(nearest("stedy"), "steady");
  EXPECT_EQ(nearest("latancy"), "latency");
  EXPECT_EQ(nearest("xylophone"), "");
  EXPECT_EQ(nearest(""), "");
}

}  // namespace
}  // namespace cohost
