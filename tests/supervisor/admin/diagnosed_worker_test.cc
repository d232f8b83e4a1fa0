// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/diagnosed_worker.h"

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/host_control.h"

namespace cohost::supervisor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Services orders and search are dotnet, in both slots of group front.
class DiagnosedWorkerTest : public ::testing::Test {
 protected:
  DiagnosedWorkerTest() {
    for (ServiceView& service : host_.services) {
      if (service.group == "front") service.runtime = Runtime::kDotnet;
    }
    for (WorkerView& worker : host_.workers) {
      if (worker.group == "front") worker.diagnostics_folder = "/run/cohost/workers/abc";
    }
  }

  ServiceView& orders() { return host_.services[3]; }
  std::string Refusal(const std::string& service, std::optional<uint32_t> slot,
                      absl::StatusCode code) const {
    const auto found = FindDiagnosedWorker(host_, service, slot);
    EXPECT_EQ(found.status().code(), code) << found.status();
    return std::string(found.status().message());
  }

  HostSnapshot host_ = SampleHost();
};

TEST_F(DiagnosedWorkerTest, TheOneWorkerNeedsNoSlot) {
  std::erase_if(host_.workers, [](const WorkerView& worker) { return worker.slot == 1; });
  const auto found = FindDiagnosedWorker(host_, "orders", std::nullopt);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->group, "front");
  EXPECT_EQ((*found)->slot, 0u);
}

TEST_F(DiagnosedWorkerTest, OfSeveralTheSlotIsNamed) {
  EXPECT_THAT(Refusal("orders", std::nullopt, absl::StatusCode::kInvalidArgument),
              AllOf(HasSubstr("slots 0, 1"), HasSubstr("--slot")));
  EXPECT_THAT(Refusal("orders", 7, absl::StatusCode::kNotFound), HasSubstr("in 0, 1"));
  const auto found = FindDiagnosedWorker(host_, "orders", 1);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->slot, 1u);
}

TEST_F(DiagnosedWorkerTest, OneThatServesIsTakenBeforeOneThatStarts) {
  WorkerView starting;
  for (const WorkerView& worker : host_.workers) {
    if (worker.group == "front" && worker.slot == 0) starting = worker;
  }
  starting.status = WorkerStatus::kStarting;
  starting.generation = 9;
  host_.workers.insert(host_.workers.begin(), starting);
  host_.workers.push_back(starting);
  const auto found = FindDiagnosedWorker(host_, "orders", 0);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->generation, 1u);
}

TEST_F(DiagnosedWorkerTest, ANativeServiceHasNoRuntime) {
  EXPECT_THAT(Refusal("catalog", std::nullopt, absl::StatusCode::kFailedPrecondition),
              HasSubstr("native"));
}

TEST_F(DiagnosedWorkerTest, AnUnknownServiceIsToldWithTheNearest) {
  EXPECT_THAT(Refusal("order", std::nullopt, absl::StatusCode::kNotFound), HasSubstr("'orders'"));
}

TEST_F(DiagnosedWorkerTest, AServiceThatRunsNowhereSaysWhy) {
  std::erase_if(host_.workers, [](const WorkerView& worker) { return worker.group == "front"; });
  orders().reason = "died while loading";
  EXPECT_THAT(Refusal("orders", std::nullopt, absl::StatusCode::kFailedPrecondition),
              HasSubstr("died while loading"));
  orders().stopped_by_operator = true;
  EXPECT_THAT(Refusal("orders", std::nullopt, absl::StatusCode::kFailedPrecondition),
              HasSubstr("cohostctl start orders"));
}

TEST_F(DiagnosedWorkerTest, WithoutDiagnosticsItSaysSo) {
  for (WorkerView& worker : host_.workers) worker.diagnostics_folder.clear();
  EXPECT_THAT(Refusal("orders", 0, absl::StatusCode::kFailedPrecondition),
              AllOf(HasSubstr("worker front/0"), HasSubstr("diagnostics: false")));
}

}  // namespace
}  // namespace cohost::supervisor
