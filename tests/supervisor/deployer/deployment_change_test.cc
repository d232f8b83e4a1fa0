// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/deployment_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void Add(PreparedDeployment& deployment, const std::string& name, char module) {
  PreparedService& service = deployment.services[name];
  service.service.name = name;
  service.service.module = "/srv/" + name + ".so";
  service.module.hash = std::string(64, module);
  service.revision = ServiceRevision(service);
}

StateRevision Revision(uint64_t number) {
  StateRevision revision;
  revision.revision = number;
  revision.action = ChangeAction::kReload;
  revision.uid = 7;
  return revision;
}

std::map<std::string, ServiceChange> Known(const PreparedDeployment& deployment) {
  std::map<std::string, ServiceChange> known;
  for (ServiceChange& change : ServiceChanges({}, deployment, {}, Revision(1))) {
    known[change.service] = change;
  }
  return known;
}

TEST(DeploymentChange, TellsAddedChangedAndRemoved) {
  PreparedDeployment before;
  Add(before, "a", '1');
  Add(before, "b", '1');
  Add(before, "c", '1');
  PreparedDeployment after;
  Add(after, "a", '1');
  Add(after, "b", '2');
  Add(after, "d", '1');
  ReloadOutcome outcome;
  CompareDeployments(&before, after, outcome);
  EXPECT_THAT(outcome.added, ElementsAre("d"));
  EXPECT_THAT(outcome.changed, ElementsAre("b"));
  EXPECT_THAT(outcome.removed, ElementsAre("c"));
  EXPECT_EQ(SummaryOf(outcome), "1 added, 1 removed, 1 changed");
  ReloadOutcome first;
  CompareDeployments(nullptr, after, first);
  EXPECT_EQ(SummaryOf(first), "nothing changed");
}

TEST(DeploymentChange, HistoryGetsWhatIsNewOrOtherOrGone) {
  PreparedDeployment before;
  Add(before, "a", '1');
  Add(before, "b", '1');
  Add(before, "c", '1');
  const auto known = Known(before);
  ASSERT_THAT(known, SizeIs(3));
  EXPECT_THAT(ServiceChanges(known, before, {}, Revision(2)), IsEmpty());
  PreparedDeployment after;
  Add(after, "a", '1');
  Add(after, "b", '2');
  const auto changes = ServiceChanges(known, after, {}, Revision(2));
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[0].service, "b");
  EXPECT_EQ(changes[0].files.module, std::string(64, '2'));
  EXPECT_EQ(changes[0].source, "/srv/b.so");
  EXPECT_EQ(changes[0].revision, 2u);
  EXPECT_EQ(changes[0].uid, 7u);
  EXPECT_EQ(changes[1].service, "c");
  EXPECT_TRUE(changes[1].files.module.empty());
  // Told by name, though its fingerprint is the same: another secret.
  EXPECT_THAT(ServiceChanges(known, before, {"a"}, Revision(2)), SizeIs(1));
}

TEST(DeploymentChange, AnotherSecretIsNoOtherVersion) {
  PreparedDeployment deployment;
  Add(deployment, "a", '1');
  PreparedService& service = deployment.services["a"];
  service.service.settings = {{"password", "${env:PASSWORD}"}};
  service.settings = {{"password", "old"}};
  const uint64_t fingerprint = SourceFingerprint(service);
  const uint64_t revision = ServiceRevision(service);
  service.settings = {{"password", "new"}};
  EXPECT_EQ(SourceFingerprint(service), fingerprint);
  EXPECT_NE(ServiceRevision(service), revision);
  service.service.settings = {{"password", "${env:OTHER}"}};
  EXPECT_NE(SourceFingerprint(service), fingerprint);
}

TEST(DeploymentChange, ModulesAreRecordedOnceWithTheirSource) {
  PreparedDeployment deployment;
  Add(deployment, "a", '1');
  Add(deployment, "b", '1');
  PreparedService& service = deployment.services["a"];
  service.service.data_images["words"] = "/srv/words.img";
  service.data_images["words"] = {std::string(64, '3'), "", Bytes{5}, StoredKind::kDataImage, {}};
  const auto changes = ServiceChanges({}, deployment, {}, Revision(1));
  const auto records = ModuleRecords(changes, deployment, Revision(1));
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].source, "/srv/a.so");
  EXPECT_EQ(records[1].kind, "data image");
  EXPECT_EQ(records[1].size, 5u);
  EXPECT_EQ(records[1].uid, 7u);
}

}  // namespace
}  // namespace cohost::supervisor
