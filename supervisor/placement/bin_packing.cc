// SPDX-License-Identifier: Apache-2.0
#include "supervisor/placement/bin_packing.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace cohost::supervisor {

namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();

// The bin that ends least full with `item`, the first of equal ones.
std::optional<size_t> LeastFull(const std::vector<Load>& bins, const Load& item,
                                const LoadLimits& limits) {
  std::optional<size_t> best;
  double best_fullness = kAny;
  for (size_t i = 0; i < bins.size(); ++i) {
    if (const auto fullness = limits.FullnessWith(bins[i], item, best_fullness)) {
      best = i;
      best_fullness = *fullness;
    }
  }
  return best;
}

std::optional<size_t> FirstFit(const std::vector<Load>& bins, const Load& item,
                               const LoadLimits& limits) {
  for (size_t i = 0; i < bins.size(); ++i) {
    if (limits.FullnessWith(bins[i], item, kAny).has_value()) return i;
  }
  return std::nullopt;
}

std::vector<size_t> FirstFitDecreasing(const std::vector<Load>& items,
                                       const std::vector<size_t>& order, const LoadLimits& limits,
                                       size_t* bin_count) {
  std::vector<size_t> bin_of(items.size());
  std::vector<Load> bins;
  for (const size_t item : order) {
    std::optional<size_t> bin = FirstFit(bins, items[item], limits);
    if (!bin.has_value()) {
      bin = bins.size();
      bins.emplace_back();
    }
    bins[*bin] += items[item];
    bin_of[item] = *bin;
  }
  *bin_count = bins.size();
  return bin_of;
}

// The same number of bins filled evenly; nothing when that does not work out.
std::optional<std::vector<size_t>> Spread(const std::vector<Load>& items,
                                          const std::vector<size_t>& order, size_t bin_count,
                                          const LoadLimits& limits) {
  std::vector<size_t> bin_of(items.size());
  std::vector<Load> bins(bin_count);
  for (const size_t item : order) {
    const auto bin = LeastFull(bins, items[item], limits);
    if (!bin.has_value()) return std::nullopt;
    bins[*bin] += items[item];
    bin_of[item] = *bin;
  }
  return bin_of;
}

std::vector<double> FullnessOf(const std::vector<Load>& items, const LoadLimits& limits) {
  std::vector<double> fullness;
  fullness.reserve(items.size());
  for (const Load& item : items) fullness.push_back(limits.Fullness(item));
  return fullness;
}

// Numbers of the items, fullest first, of equal ones the earlier.
std::vector<size_t> Decreasing(const std::vector<double>& fullness) {
  std::vector<size_t> order(fullness.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return fullness[a] > fullness[b]; });
  return order;
}

}  // namespace

std::vector<size_t> PackIntoBins(const std::vector<Load>& items, const std::vector<Load>& present,
                                 const LoadLimits& limits) {
  std::vector<size_t> bin_of(items.size());
  std::vector<Load> bins = present;
  std::vector<size_t> rest;
  for (const size_t item : Decreasing(FullnessOf(items, limits))) {
    if (const auto bin = LeastFull(bins, items[item], limits)) {
      bins[*bin] += items[item];
      bin_of[item] = *bin;
    } else {
      rest.push_back(item);
    }
  }
  size_t bin_count = 0;
  std::vector<size_t> new_bin_of = FirstFitDecreasing(items, rest, limits, &bin_count);
  if (auto even = Spread(items, rest, bin_count, limits)) new_bin_of = *std::move(even);
  for (const size_t item : rest) bin_of[item] = present.size() + new_bin_of[item];
  return bin_of;
}

std::vector<size_t> ChooseToLeave(const std::vector<Load>& items, const LoadLimits& limits) {
  Load sum;
  for (const Load& item : items) sum += item;
  const std::vector<double> fullness = FullnessOf(items, limits);
  // Least full first, of equal ones the later.
  std::vector<size_t> staying = Decreasing(fullness);
  std::reverse(staying.begin(), staying.end());
  std::vector<size_t> leaving;
  while (!limits.Fits(sum)) {
    auto chosen = staying.end();
    if (sum.count() <= limits.services() + 1) {
      chosen = std::find_if(staying.begin(), staying.end(),
                            [&](size_t item) { return limits.Fits(sum - items[item]); });
    }
    if (chosen == staying.end()) {
      chosen = std::find_if(staying.begin(), staying.end(), [&](size_t item) {
        return fullness[item] == fullness[staying.back()];
      });
    }
    sum -= items[*chosen];
    leaving.push_back(*chosen);
    staying.erase(chosen);
  }
  std::sort(leaving.begin(), leaving.end());
  return leaving;
}

}  // namespace cohost::supervisor
