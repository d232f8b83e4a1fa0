// SPDX-License-Identifier: Apache-2.0
#include "supervisor/profile/process_sampler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>

namespace cohost::supervisor {
namespace {

std::vector<ProcessSample> MeasureAndWait(ProcessSampler& sampler,
                                          std::vector<SampledProcess> processes,
                                          SampleDepth depth = SampleDepth::kTotals) {
  auto promise = std::make_shared<std::promise<std::vector<ProcessSample>>>();
  auto future = promise->get_future();
  EXPECT_TRUE(sampler.Measure(
      std::move(processes), depth,
      [promise](std::vector<ProcessSample> samples) { promise->set_value(std::move(samples)); }));
  if (future.wait_for(std::chrono::seconds(30)) != std::future_status::ready) {
    ADD_FAILURE() << "no samples within 30 s";
    return {};
  }
  return future.get();
}

TEST(ProcessSampler, MeasuresAProcessByItsPid) {
  ProcessSampler sampler;
  const auto samples = MeasureAndWait(sampler, {{"self", getpid()}});
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].name, "self");
  EXPECT_EQ(samples[0].pid, getpid());
  ASSERT_TRUE(samples[0].memory.has_value());
  EXPECT_GT(samples[0].memory->pss.count, 0u);
  ASSERT_TRUE(samples[0].cpu.has_value());
  EXPECT_GE(samples[0].cpu->threads, 2u);
  EXPECT_FALSE(samples[0].maps.ok()) << "nobody asked for what it costs";
}

TEST(ProcessSampler, MappingsAddUpToTheTotals) {
  ProcessSampler sampler;
  const auto samples = MeasureAndWait(sampler, {{"self", getpid()}}, SampleDepth::kMappings);
  ASSERT_EQ(samples.size(), 1u);
  ASSERT_TRUE(samples[0].memory.has_value());
  ASSERT_TRUE(samples[0].maps.ok());
  const ProcessMaps& maps = *samples[0].maps;
  EXPECT_GT(maps.mappings, 10u);
  EXPECT_FALSE(maps.files.empty());
  // Both are read one after the other, while the sampler itself goes on.
  const auto near = [](Bytes a, Bytes b) {
    return std::max(a.count, b.count) - std::min(a.count, b.count) <=
           std::max(a.count, b.count) / 50 + 256 * 1024;
  };
  EXPECT_TRUE(near(maps.pss, samples[0].memory->pss)) << maps.pss.count;
  EXPECT_TRUE(near(maps.anonymous, samples[0].memory->anonymous)) << maps.anonymous.count;
}

TEST(ProcessSampler, AProcessThatHasEndedGivesNoFiguresAndHidesNoOther) {
  ProcessSampler sampler;
  // Above the largest pid that the kernel gives out.
  const auto samples = MeasureAndWait(sampler, {{"gone", 1 << 30}, {"self", getpid()}});
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_FALSE(samples[0].memory.has_value());
  EXPECT_FALSE(samples[0].cpu.has_value());
  EXPECT_FALSE(samples[0].maps.ok());
  EXPECT_TRUE(samples[1].memory.has_value());
}

TEST(ProcessSampler, RefusesMoreMeasurementsThanMayWait) {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::promise<void> entered;
  {
    ProcessSampler sampler;
    ASSERT_TRUE(sampler.Measure({}, SampleDepth::kTotals, [&](std::vector<ProcessSample>) {
      entered.set_value();
      released.wait();
    }));
    entered.get_future().wait();
    int accepted = 0;
    while (sampler.Measure({}, SampleDepth::kMappings, [](std::vector<ProcessSample>) {}) &&
           accepted < 1000) {
      ++accepted;
    }
    EXPECT_EQ(accepted, 8);
    release.set_value();
  }
}

}  // namespace
}  // namespace cohost::supervisor
