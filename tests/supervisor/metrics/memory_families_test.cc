// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/memory_families.h"

#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "supervisor/metrics/names.h"
#include "tests/fakes/host_control.h"
#include "tests/supervisor/metrics/families.h"

namespace cohost::supervisor {
namespace {

Families Collect(const HostSnapshot& host) {
  Families families;
  AddModuleMemoryFamilies(host, families);
  return families;
}

TEST(MemoryFamilies, AModulesFiguresCarryTheBeginningOfItsHash) {
  const Families families = Collect(SampleHost());
  EXPECT_TRUE(HasNothingTwice(families));
  EXPECT_EQ(ValueOf(families, kModulePss.name, {"module=333333333333"}), 4 * 121'000);
  EXPECT_EQ(ValueOf(families, kModuleShared.name, {"module=333333333333"}), 4 * 340'000);
  EXPECT_EQ(ValueOf(families, kModulePrivate.name, {"module=333333333333"}), 4 * 36'000);
  EXPECT_EQ(ValueOf(families, kModulePrivate.name, {"module=aaaaaaaaaaaa"}), 2'500'000);
  EXPECT_EQ(ValueOf(families, kModuleProcesses.name, {"module=333333333333"}), 4);
  EXPECT_EQ(ValueOf(families, kModuleSaved.name, {"module=333333333333"}), 4 * 340'000);
  EXPECT_EQ(ValueOf(families, kModulesMeasured.name), 1767323045 + 60);
}

TEST(MemoryFamilies, NothingIsShownBeforeTheFirstMeasurement) {
  HostSnapshot host = SampleHost();
  host.module_memory = nullptr;
  EXPECT_TRUE(Collect(host).empty());
}

TEST(MemoryFamilies, SeriesAreBoundedAndTheLargestStay) {
  HostSnapshot host = SampleHost();
  MemoryReport report;
  for (uint32_t i = 0; i < kMostModuleSeries + 50; ++i) {
    ModuleMemory module;
    module.hash = absl::StrFormat("%064x", i);
    module.hash = absl::StrFormat("%012x", i) + module.hash.substr(12);
    module.bytes.pss = 1000 + i;
    report.modules.push_back(module);
  }
  host.module_memory = std::make_shared<const MemoryReport>(report);
  const Families families = Collect(host);
  EXPECT_EQ(FindFamily(families, kModulePss.name)->metric.size(), kMostModuleSeries);
  EXPECT_FALSE(ValueOf(families, kModulePss.name, {"module=000000000031"})) << "the 50th smallest";
  EXPECT_TRUE(ValueOf(families, kModulePss.name, {"module=000000000032"}));
}

TEST(MemoryFamilies, HashesThatBeginAlikeAreOneSeries) {
  HostSnapshot host = SampleHost();
  MemoryReport report;
  for (const char last : {'1', '2'}) {
    ModuleMemory module;
    module.hash = std::string(63, 'c') + last;
    module.bytes.pss = 10;
    module.processes = last == '1' ? 3 : 2;
    report.modules.push_back(module);
  }
  host.module_memory = std::make_shared<const MemoryReport>(report);
  const Families families = Collect(host);
  EXPECT_TRUE(HasNothingTwice(families));
  EXPECT_EQ(ValueOf(families, kModulePss.name, {"module=cccccccccccc"}), 20);
  EXPECT_EQ(ValueOf(families, kModuleProcesses.name, {"module=cccccccccccc"}), 3);
}

}  // namespace
}  // namespace cohost::supervisor
