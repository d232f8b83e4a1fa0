// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/page.h"

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

absl::StatusOr<Page<std::string>> Take(const std::vector<std::string>& items, int32_t size,
                                       const std::string& token) {
  return TakePage(
      items, size, token, [](const std::string& item) { return item; },
      [](const std::string& item) { return item != "hidden"; });
}

TEST(Page, IsOrderedAndEndsWithoutAToken) {
  const std::vector<std::string> items = {"c", "a", "hidden", "b"};
  const auto page = Take(items, 0, "");
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->items.size(), 3u);
  EXPECT_EQ(*page->items[0], "a");
  EXPECT_EQ(*page->items[2], "c");
  EXPECT_EQ(page->next_token, "");
}

TEST(Page, GoesOnAfterAnItemThatIsGone) {
  const std::vector<std::string> all = {"a", "b", "c", "d"};
  const auto first = Take(all, 2, "");
  ASSERT_TRUE(first.ok());
  const std::vector<std::string> without_b = {"a", "c", "d"};
  const auto second = Take(without_b, 2, first->next_token);
  ASSERT_TRUE(second.ok());
  ASSERT_EQ(second->items.size(), 2u);
  EXPECT_EQ(*second->items[0], "c");
}

TEST(Page, ThousandItemsByDefault) {
  std::vector<std::string> items;
  for (int i = 10000; i < 11001; ++i) items.push_back(std::to_string(i));
  const auto page = Take(items, 0, "");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->items.size(), 1000u);
  EXPECT_EQ(Take(items, 0, page->next_token)->items.size(), 1u);
}

TEST(Page, RefusesOtherSizesAndTokens) {
  const std::vector<std::string> items = {"a"};
  EXPECT_FALSE(Take(items, -1, "").ok());
  EXPECT_FALSE(Take(items, kMaxPageSize + 1, "").ok());
  EXPECT_TRUE(Take(items, kMaxPageSize, "").ok());
  EXPECT_FALSE(Take(items, 0, "a").ok());
}

}  // namespace
}  // namespace cohost::supervisor
