// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "supervisor/config/deployment.h"

namespace cohost::supervisor {

// What services declare, summed: count, memory and CPU in each hour of the day. CPU is kept in
// millionths of a core, so that sums do not depend on the order of adding.
class Load {
 public:
  static constexpr int kHours = 24;

  Load() = default;
  // One service: its CPU in the hours of its peak, a tenth of it outside.
  explicit Load(const LoadProfile& profile);

  Load& operator+=(const Load& other);
  Load& operator-=(const Load& other);
  friend Load operator+(Load a, const Load& b) { return a += b; }
  friend Load operator-(Load a, const Load& b) { return a -= b; }

  uint64_t count() const { return count_; }
  Bytes memory() const { return Bytes{memory_}; }
  double peak_cpu() const { return static_cast<double>(PeakMicroCores()) / 1e6; }
  uint64_t PeakMicroCores() const;
  // Of the sum of both.
  uint64_t PeakMicroCoresWith(const Load& other) const;

 private:
  uint64_t count_ = 0;
  uint64_t memory_ = 0;
  std::array<uint64_t, kHours> micro_cores_{};
};

enum class LoadLimit { kNone, kServices, kMemory, kCpu };

// What one worker may hold. Immutable.
class LoadLimits {
 public:
  LoadLimits(uint64_t services, Bytes memory, double cpu);

  // The first limit that `load` is over, kNone when it fits.
  LoadLimit Exceeded(const Load& load) const;
  bool Fits(const Load& load) const { return Exceeded(load) == LoadLimit::kNone; }
  // The fullest of the three, 1 is full.
  double Fullness(const Load& load) const;
  // Fullness of both together, when they fit and it is less than `below`.
  std::optional<double> FullnessWith(const Load& load, const Load& added, double below) const;

  uint64_t services() const { return services_; }
  Bytes memory() const { return Bytes{memory_}; }
  double cpu() const { return static_cast<double>(micro_cores_) / 1e6; }

 private:
  uint64_t services_;
  uint64_t memory_;
  uint64_t micro_cores_;
};

}  // namespace cohost::supervisor
