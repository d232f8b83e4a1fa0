// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/runtime_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cohost::supervisor {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DotnetEnvironment, DensityIsTheDefault) {
  EXPECT_THAT(
      DotnetEnvironment({}, "/opt/dotnet"),
      ElementsAre("DOTNET_gcServer=0", "DOTNET_gcConcurrent=0", "DOTNET_TieredPGO=0",
                  "DOTNET_EnableWriteXorExecute=0", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=0",
                  "DOTNET_ThreadPool_UnfairSemaphoreSpinLimit=0", "DOTNET_GCgen0size=0x400000",
                  "DOTNET_ROOT=/opt/dotnet"));
}

TEST(DotnetEnvironment, ThroughputIsWhatTheRuntimeDoesByItself) {
  GroupPolicy policy;
  policy.dotnet = DotnetPolicy::Of(DotnetProfile::kThroughput);
  EXPECT_THAT(DotnetEnvironment(policy, ""),
              AllOf(Contains("DOTNET_gcServer=1"), Contains("DOTNET_gcConcurrent=1"),
                    Contains("DOTNET_TieredPGO=1"), Not(Contains(HasSubstr("SpinLimit"))),
                    Not(Contains(HasSubstr("gen0size"))), Not(Contains(HasSubstr("ROOT")))));
}

TEST(DotnetEnvironment, DiagnosticsAreOnUnlessSaid) {
  GroupPolicy policy;
  EXPECT_THAT(DotnetEnvironment(policy, ""), Not(Contains(HasSubstr("Diagnostics"))));
  policy.dotnet.diagnostics = false;
  EXPECT_THAT(DotnetEnvironment(policy, ""), Contains("DOTNET_EnableDiagnostics=0"));
}

TEST(DotnetEnvironment, NumbersAreHexadecimal) {
  GroupPolicy policy;
  policy.dotnet.conserve_memory = 9;
  policy.dotnet.heap_limit = MiB(384);
  EXPECT_THAT(DotnetEnvironment(policy, ""), AllOf(Contains("DOTNET_GCConserveMemory=0x9"),
                                                   Contains("DOTNET_GCHeapHardLimit=0x18000000")));
}

TEST(HeapLimit, IsThreeQuartersOfTheWorkersMemoryUnlessSaid) {
  GroupPolicy policy;
  EXPECT_EQ(HeapLimit(policy), Bytes{});
  policy.limits.memory = MiB(512);
  EXPECT_EQ(HeapLimit(policy), MiB(384));
  policy.dotnet.heap_limit = MiB(100);
  EXPECT_EQ(HeapLimit(policy), MiB(100));
}

}  // namespace
}  // namespace cohost::supervisor
