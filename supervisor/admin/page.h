// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/strings.h"

namespace cohost::supervisor {

inline constexpr int32_t kDefaultPageSize = 1000;
inline constexpr int32_t kMaxPageSize = 10000;
// In front of every token, so that a name passed as a token by mistake is an error and not a page.
inline constexpr std::string_view kPageTokenPrefix = "after:";

// One page of a list. The token is the key of the page's last item: items that come or go between
// two calls never make another one appear twice or get lost.
template <typename Item>
struct Page {
  std::vector<const Item*> items;
  std::string next_token;
};

// The page of those `items` that `wanted` accepts, ordered by `key` (unique). `items` outlives the
// page. INVALID_ARGUMENT for a size or a token that no list gives.
template <typename Item, typename Key, typename Wanted>
absl::StatusOr<Page<Item>> TakePage(const std::vector<Item>& items, int32_t page_size,
                                    const std::string& page_token, Key key, Wanted wanted) {
  if (page_size < 0 || page_size > kMaxPageSize) {
    return absl::InvalidArgumentError(absl::StrCat("page_size is ", page_size, "; it is 0 (",
                                                   kDefaultPageSize, ") to ", kMaxPageSize));
  }
  if (!page_token.empty() && page_token.rfind(kPageTokenPrefix, 0) != 0) {
    return absl::InvalidArgumentError(
        "page_token is not one that a list answered; leave it empty to start");
  }
  const std::string after = page_token.empty() ? "" : page_token.substr(kPageTokenPrefix.size());
  std::vector<std::pair<std::string, const Item*>> rest;
  for (const Item& item : items) {
    if (!wanted(item)) continue;
    std::string name = key(item);
    if (page_token.empty() || name > after) rest.emplace_back(std::move(name), &item);
  }
  std::sort(rest.begin(), rest.end());
  const size_t size = std::min<size_t>(
      rest.size(), static_cast<size_t>(page_size == 0 ? kDefaultPageSize : page_size));
  Page<Item> page;
  for (size_t i = 0; i < size; ++i) page.items.push_back(rest[i].second);
  if (size < rest.size())
    page.next_token = absl::StrCat(AsAbsl(kPageTokenPrefix), rest[size - 1].first);
  return page;
}

}  // namespace cohost::supervisor
