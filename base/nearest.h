// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace cohost {

// Smallest number of inserted, removed, changed and swapped characters that turns `a` into `b`, but
// at most `limit` + 1: what is further away does not matter. Long texts cost nothing.
size_t EditDistance(std::string_view a, std::string_view b, size_t limit);

// How far a misspelling of `name` may be from what was meant: a third of it, at least one.
size_t NearLimit(std::string_view name);

// The element of `candidates` nearest to `name` (by `text` of it), or the end when none is near.
template <typename Range, typename Text>
auto FindNearest(const Range& candidates, std::string_view name, Text text) {
  size_t best_distance = NearLimit(name) + 1;
  auto best = candidates.end();
  for (auto it = candidates.begin(); it != candidates.end(); ++it) {
    const size_t distance = EditDistance(name, text(*it), NearLimit(name));
    if (distance < best_distance) {
      best_distance = distance;
      best = it;
    }
  }
  return best;
}

}  // namespace cohost
