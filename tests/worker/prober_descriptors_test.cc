// SPDX-License-Identifier: Apache-2.0
// Apart from prober_test: the sanitizer's own checks need descriptors too.
#include <sys/resource.h>

#include <optional>
#include <utility>

#include "gtest/gtest.h"
#include "tests/worker/worker_harness.h"
#include "worker/prober.h"

namespace cohost::worker {
namespace {

TEST(ProberDescriptors, WithoutAnyTheRequestIsToldFromTheLoop) {
  WorkerHarness harness;
  ServiceEntry& entry = harness.AddService(1);
  harness.MakeReady(entry);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::optional<absl::StatusOr<int>> code;
  RequestInside(harness.parts, entry, "/", absl::Hours(1),
                [&code](auto got) { code = std::move(got); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(code.has_value()) << "not inside the call";
  harness.Poll();
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(code->status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace cohost::worker
