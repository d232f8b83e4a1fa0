// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/deployment_difference.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;

const std::string kA(64, 'a');
const std::string kB(64, 'b');

class DeploymentDifferenceTest : public ::testing::Test {
 protected:
  DeploymentDifferenceTest() {
    for (const char* name : {"catalog", "orders"}) {
      Service service;
      service.name = name;
      service.module = std::string("/srv/") + name + ".so";
      before_.services.push_back(service);
      files_before_[{name, ""}] = kA;
    }
    Group group;
    group.name = "shop";
    before_.groups.push_back(group);
    after_ = before_;
    files_after_ = files_before_;
  }
  DeploymentDifference Difference() const {
    return DifferenceBetween(before_, files_before_, after_, files_after_);
  }

  Deployment before_, after_;
  FileHashes files_before_, files_after_;
};

TEST_F(DeploymentDifferenceTest, OtherPathsAndAnotherHostAreNone) {
  after_.services[0].module = "/etc/imported/catalog.so";
  after_.host.state_dir = "/elsewhere";
  std::swap(after_.services[0], after_.services[1]);
  EXPECT_TRUE(Difference().empty());
  EXPECT_EQ(DifferenceText(Difference()), "");
}

TEST_F(DeploymentDifferenceTest, NewContentIsOneWithBothHashes) {
  files_after_[{"orders", ""}] = kB;
  const DeploymentDifference difference = Difference();
  EXPECT_THAT(difference.changed, ElementsAre(ServiceDifference{"orders", kA, kB, {}}));
  EXPECT_EQ(DifferenceText(difference), "~ orders  module aaaaaaaaaaaa -> bbbbbbbbbbbb\n");
}

TEST_F(DeploymentDifferenceTest, ServicesComeAndGo) {
  after_.services[0].name = "billing";
  files_after_[{"billing", ""}] = kB;
  const DeploymentDifference difference = Difference();
  EXPECT_THAT(difference.added, ElementsAre(ServiceDifference{"billing", "", kB, {}}));
  EXPECT_THAT(difference.removed, ElementsAre(ServiceDifference{"catalog", kA, "", {}}));
  EXPECT_EQ(DifferenceText(difference), "+ billing  module bbbbbbbbbbbb\n- catalog\n");
}

TEST_F(DeploymentDifferenceTest, WhatElseDiffersIsNamedByItsKey) {
  after_.services[0].settings = {{"db:password", "${env:OTHER}"}};
  after_.services[0].limits.queue = 7;
  after_.services[0].data_images["words"] = "/w";
  files_after_[{"catalog", "words"}] = kB;
  after_.services[1].description = "new";
  const DeploymentDifference difference = Difference();
  ASSERT_EQ(difference.changed.size(), 2u);
  EXPECT_THAT(difference.changed[0].keys, ElementsAre("limits", "settings", "data_images.words"));
  EXPECT_THAT(difference.changed[1].keys, ElementsAre("description"));
  // Settings are named, never shown.
  EXPECT_EQ(DifferenceText(difference),
            "~ catalog  limits, settings, data_images.words\n~ orders  description\n");
}

TEST_F(DeploymentDifferenceTest, GroupsAndPolicies) {
  after_.groups[0].policy.workers = 3;
  after_.groups.push_back({});
  after_.groups[1].name = "batch";
  before_.groups.push_back({});
  before_.groups[1].name = "old";
  after_.grouping.worker_cpu = 2;
  after_.group_defaults.workers = 2;
  const DeploymentDifference difference = Difference();
  EXPECT_THAT(difference.groups_added, ElementsAre("batch"));
  EXPECT_THAT(difference.groups_removed, ElementsAre("old"));
  EXPECT_THAT(difference.groups_changed, ElementsAre("shop"));
  EXPECT_EQ(DifferenceText(difference),
            "+ group batch\n- group old\n~ group shop\n~ grouping\n~ group_defaults\n");
}

}  // namespace
}  // namespace cohost::supervisor
