// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cohost {

size_t EditDistance(std::string_view a, std::string_view b, size_t limit) {
  const size_t length_difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (length_difference > limit) return limit + 1;
  // Three rows of the usual table, so that neighbouring characters in the wrong order count once.
  std::vector<size_t> before_last, last(b.size() + 1), current(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_last[j - 2] + 1);
      }
    }
    before_last = last;
    std::swap(last, current);
    if (*std::min_element(last.begin(), last.end()) > limit) return limit + 1;
  }
  return std::min(last[b.size()], limit + 1);
}

size_t NearLimit(std::string_view name) { return std::max<size_t>(1, name.size() / 3); }

}  // namespace cohost
