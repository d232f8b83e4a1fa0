// SPDX-License-Identifier: Apache-2.0
#include "supervisor/placement/load.h"

#include <algorithm>
#include <cmath>

namespace cohost::supervisor {

namespace {

constexpr double kMicro = 1e6;
constexpr uint64_t kOffPeakDivisor = 10;

uint64_t MicroCores(double cores) {
  // Beyond any machine, and far enough from the end of the type that sums cannot wrap.
  constexpr double kMost = 1e6 * kMicro;
  return static_cast<uint64_t>(std::llround(std::clamp(cores * kMicro, 0.0, kMost)));
}

double Share(uint64_t used, uint64_t limit) {
  return static_cast<double>(used) / static_cast<double>(std::max<uint64_t>(limit, 1));
}

}  // namespace

Load::Load(const LoadProfile& profile) : count_(1), memory_(profile.memory.count) {
  const uint32_t peak = profile.peak.has_value() ? profile.peak->HourMask() : 0xffffff;
  const uint64_t inside = MicroCores(profile.cpu);
  for (int hour = 0; hour < kHours; ++hour) {
    micro_cores_[hour] = (peak >> hour & 1) != 0 ? inside : inside / kOffPeakDivisor;
  }
}

Load& Load::operator+=(const Load& other) {
  count_ += other.count_;
  memory_ += other.memory_;
  for (int hour = 0; hour < kHours; ++hour) micro_cores_[hour] += other.micro_cores_[hour];
  return *this;
}

Load& Load::operator-=(const Load& other) {
  count_ -= other.count_;
  memory_ -= other.memory_;
  for (int hour = 0; hour < kHours; ++hour) micro_cores_[hour] -= other.micro_cores_[hour];
  return *this;
}

uint64_t Load::PeakMicroCores() const {
  return *std::max_element(micro_cores_.begin(), micro_cores_.end());
}

uint64_t Load::PeakMicroCoresWith(const Load& other) const {
  uint64_t peak = 0;
  for (int hour = 0; hour < kHours; ++hour) {
    peak = std::max(peak, micro_cores_[hour] + other.micro_cores_[hour]);
  }
  return peak;
}

LoadLimits::LoadLimits(uint64_t services, Bytes memory, double cpu)
    : services_(services), memory_(memory.count), micro_cores_(MicroCores(cpu)) {}

LoadLimit LoadLimits::Exceeded(const Load& load) const {
  if (load.count() > services_) return LoadLimit::kServices;
  if (load.memory().count > memory_) return LoadLimit::kMemory;
  if (load.PeakMicroCores() > micro_cores_) return LoadLimit::kCpu;
  return LoadLimit::kNone;
}

double LoadLimits::Fullness(const Load& load) const {
  return std::max({Share(load.count(), services_), Share(load.memory().count, memory_),
                   Share(load.PeakMicroCores(), micro_cores_)});
}

std::optional<double> LoadLimits::FullnessWith(const Load& load, const Load& added,
                                               double below) const {
  const uint64_t count = load.count() + added.count();
  const uint64_t memory = load.memory().count + added.memory().count;
  if (count > services_ || memory > memory_) return std::nullopt;
  // The hours are the dear part: not looked at where the rest decides.
  const double fullness = std::max(Share(count, services_), Share(memory, memory_));
  if (fullness >= below) return std::nullopt;
  const uint64_t peak = load.PeakMicroCoresWith(added);
  if (peak > micro_cores_) return std::nullopt;
  const double with_cpu = std::max(fullness, Share(peak, micro_cores_));
  if (with_cpu >= below) return std::nullopt;
  return with_cpu;
}

}  // namespace cohost::supervisor
