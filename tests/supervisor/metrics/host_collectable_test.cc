// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/host_collectable.h"

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "supervisor/metrics/names.h"
#include "tests/fakes/host_control.h"
#include "tests/supervisor/metrics/families.h"

namespace cohost::supervisor {
namespace {

class HostCollectableTest : public ::testing::Test {
 protected:
  HostSnapshot host_ = SampleHost();
  HostCollectable collectable_{[this] { return std::make_shared<const HostSnapshot>(host_); },
                               "1.2.3"};
};

TEST_F(HostCollectableTest, NoSeriesIsThereTwiceWhateverTheSnapshotHolds) {
  EXPECT_TRUE(HasNothingTwice(collectable_.Collect()));
  host_ = LargeHost(200);
  for (ServiceView& service : host_.services) {
    service.metrics = {{"store_bytes", false, 1}, {"cars", true, 1}};
  }
  EXPECT_TRUE(HasNothingTwice(collectable_.Collect()));
  host_ = HostSnapshot();
  EXPECT_TRUE(HasNothingTwice(collectable_.Collect()));
}

TEST_F(HostCollectableTest, IsOfTheNewestSnapshot) {
  EXPECT_EQ(ValueOf(collectable_.Collect(), kRevision.name), 3);
  host_.revision = 4;
  EXPECT_EQ(ValueOf(collectable_.Collect(), kRevision.name), 4);
}

TEST_F(HostCollectableTest, EveryStateOfServicesIsASeriesAndTheirSumIsAll) {
  host_.services[0].status = ServiceStatus::kStopped;
  const Families families = collectable_.Collect();
  EXPECT_EQ(ValueOf(families, kServices.name, {"state=ready"}), 3);
  EXPECT_EQ(ValueOf(families, kServices.name, {"state=failed"}), 1);
  EXPECT_EQ(ValueOf(families, kServices.name, {"state=stopped"}), 1);
  EXPECT_EQ(ValueOf(families, kServices.name, {"state=loading"}), 0);
  EXPECT_EQ(ValueOf(families, kServices.name, {"state=draining"}), 0);
}

TEST_F(HostCollectableTest, TheTimeToReadyIsMissingUntilItIsKnown) {
  EXPECT_EQ(ValueOf(collectable_.Collect(), kReadyAfter.name), 0.063);
  host_.ready_after.reset();
  EXPECT_EQ(FindFamily(collectable_.Collect(), kReadyAfter.name), nullptr);
}

TEST_F(HostCollectableTest, CpuAddsUpFromPageToPage) {
  host_.workers = {host_.workers[3]};
  const auto cpu = [this] {
    return ValueOf(collectable_.Collect(), kWorkerCpu.name, {"group=steady-1", "slot=0"})
        .value_or(-1);
  };
  EXPECT_DOUBLE_EQ(cpu(), 2.35);
  host_.workers[0].generation = 2;
  host_.workers[0].cpu = absl::Seconds(1);
  EXPECT_DOUBLE_EQ(cpu(), 3.35);
  EXPECT_DOUBLE_EQ(cpu(), 3.35);
}

TEST_F(HostCollectableTest, TheHostsOwnFigures) {
  host_.supervisor_restarts = 2;
  host_.events_dropped = 3;
  host_.accept_errors = 4;
  const Families families = collectable_.Collect();
  EXPECT_EQ(ValueOf(families, kBuildInfo.name, {"version=1.2.3"}), 1);
  EXPECT_EQ(ValueOf(families, kStartTime.name), 1767323045);
  EXPECT_EQ(ValueOf(families, kSupervisorRestarts.name), 2);
  EXPECT_EQ(ValueOf(families, kEventsDropped.name), 3);
  EXPECT_EQ(ValueOf(families, kAcceptErrors.name), 4);
  EXPECT_EQ(ValueOf(families, kStoreFiles.name), 2);
  EXPECT_EQ(ValueOf(families, kStoreSize.name), 412'000 + 31'400'000);
  EXPECT_EQ(ValueOf(families, kProcessPss.name, {"process=keeper"}), 910'000);
  EXPECT_EQ(ValueOf(families, kProcessCpu.name, {"process=supervisor"}), 0.84);
}

}  // namespace
}  // namespace cohost::supervisor
