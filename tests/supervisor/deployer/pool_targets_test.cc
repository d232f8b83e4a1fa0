// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/pool_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "supervisor/config/address_text.h"
#include "tests/fakes/descriptor_holder.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A declared group "shop" with the services a and b, a derived one "steady-1" with c.
class PoolTargetsTest : public ::testing::Test {
 protected:
  PoolTargetsTest() {
    mkdir((folder_ / "run").c_str(), 0755);
    Host& host = prepared_.deployment.host;
    host.runtime_dir = folder_ / "run";
    host.state_dir = folder_ / "state";
    host.admin = *ParseSocket("unix:" + (folder_ / "run/admin.sock"));
    Group shop;
    shop.name = "shop";
    shop.policy.workers = 3;
    prepared_.deployment.groups = {shop};
    prepared_.deployment.group_defaults.workers = 2;
    prepared_.identities["shop"].uid = 1234;
    prepared_.default_identity.uid = 99;
    placement_.groups = {Placed("shop", /*declared=*/true, {"a", "b"}),
                         Placed("steady-1", /*declared=*/false, {"c"})};
    Add("a", {"http://127.0.0.1:0", "http+unix:" + (folder_ / "run/a.sock")});
    Add("b", {"http://127.0.0.1:0"});
    Add("c", {"http://127.0.0.1:0", "http://127.0.0.1:0"});
  }

  static PlacedGroup Placed(const std::string& name, bool declared,
                            const std::vector<std::string>& services) {
    PlacedGroup group;
    group.name = name;
    group.declared = declared;
    for (const std::string& service : services) group.services.push_back({service, ""});
    return group;
  }
  void Add(const std::string& name, const std::vector<std::string>& addresses) {
    PreparedService& service = prepared_.services[name];
    service.service.name = name;
    for (const std::string& address : addresses) {
      service.service.listen.push_back(*ParseAddress(address));
    }
    service.module.path = "/store/" + name + ".so";
    service.data_images["words"].path = "/store/" + name + ".img";
    service.settings = {{"password", "resolved"}};
    service.revision = 7;
  }
  // Opens what is wanted, with owners that anybody may give.
  void Open(const std::set<std::string>& stopped = {}) {
    std::vector<WantedListener> wanted = WantedListeners(prepared_, placement_, stopped);
    for (WantedListener& listener : wanted) listener.default_owner.reset();
    absl::StatusOr<ListenerSet::Change> change = listeners_.Prepare(wanted);
    ASSERT_TRUE(change.ok()) << change.status();
    listeners_.Commit(*std::move(change));
  }
  PoolTarget Target(const std::set<std::string>& stopped = {}) {
    return MakePoolTarget(prepared_, placement_, stopped, listeners_, ids_);
  }

  const cohost::testing::TemporaryFolder folder_;
  PreparedDeployment prepared_;
  Placement placement_;
  FakeDescriptorHolder holder_;
  ListenerSet listeners_{holder_};
  ServiceIds ids_;
};

TEST_F(PoolTargetsTest, WantsTheHostsOwnSocketsAndThoseOfServicesThatNobodyStopped) {
  prepared_.deployment.host.metrics = *ParseEndpoint("127.0.0.1:0");
  std::vector<std::string> owners;
  std::set<std::string> keys;
  for (const WantedListener& wanted : WantedListeners(prepared_, placement_, {"b"})) {
    owners.push_back(wanted.default_owner ? absl::StrCat(*wanted.default_owner) : "host");
    // Any number of services may ask for a free port: each has its own.
    EXPECT_TRUE(keys.insert(wanted.key).second) << wanted.key;
  }
  EXPECT_THAT(owners, ElementsAre("host", "host", "1234", "1234", "99", "99"));
  const std::vector<WantedListener> none = WantedListeners(prepared_, placement_, {"a", "b", "c"});
  EXPECT_THAT(none, SizeIs(2));
}

TEST_F(PoolTargetsTest, ADerivedGroupOfADeclaredNameHasTheDefaults) {
  const PlacedGroup derived = Placed("shop", /*declared=*/false, {});
  EXPECT_EQ(PolicyOf(prepared_, derived).workers, 2);
  EXPECT_EQ(IdentityOf(prepared_, derived).uid, 99u);
  const PlacedGroup declared = Placed("shop", /*declared=*/true, {});
  EXPECT_EQ(PolicyOf(prepared_, declared).workers, 3);
  EXPECT_EQ(IdentityOf(prepared_, declared).uid, 1234u);
}

TEST_F(PoolTargetsTest, AServiceGetsItsFilesItsFolderAndItsOpenSockets) {
  Open();
  const PoolTarget target = Target();
  ASSERT_THAT(target.groups, SizeIs(2));
  EXPECT_EQ(target.groups[0].name, "shop");
  EXPECT_EQ(target.groups[0].policy.workers, 3);
  EXPECT_EQ(target.groups[0].identity.uid, 1234u);
  ASSERT_THAT(target.groups[0].services, SizeIs(2));
  const ServiceTarget& a = *target.groups[0].services[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.revision, 7);
  EXPECT_EQ(a.module_path, "/store/a.so");
  EXPECT_EQ(a.data_images.at("words"), "/store/a.img");
  EXPECT_EQ(a.settings, (Settings{{"password", "resolved"}}));
  EXPECT_EQ(a.data_folder, folder_ / "state/data/a");
  ASSERT_THAT(a.listeners, SizeIs(2));
  EXPECT_TRUE(ListenerToken(a.listeners[0].descriptor).ok());
  // The port that the kernel chose.
  EXPECT_EQ(a.listeners[0].address, AddressesOf(prepared_.services["a"].service, listeners_)[0]);
  EXPECT_THAT(a.listeners[0].address, ::testing::Not(HasSubstr(":0")));
  EXPECT_THAT(a.listeners[1].address, HasSubstr("/run/a.sock"));
  const ServiceTarget& c = *target.groups[1].services[0];
  ASSERT_THAT(c.listeners, SizeIs(2));
  EXPECT_NE(*ListenerToken(c.listeners[0].descriptor), *ListenerToken(c.listeners[1].descriptor));
}

TEST_F(PoolTargetsTest, ApplicationsAreToldTheirOwnAndTheirWorkersWhereDotnetIs) {
  placement_.groups[1].runtime = Runtime::kDotnet;
  prepared_.dotnet_root = "/opt/dotnet";
  PreparedService& c = prepared_.services["c"];
  c.service.runtime = Runtime::kDotnet;
  c.service.listen[1].endpoint = "Grpc";
  c.service.dotnet.arguments = {"--verbose"};
  c.environment = {{"A", "resolved"}};
  Open();
  const PoolTarget target = Target();
  ASSERT_THAT(target.groups, SizeIs(2));
  EXPECT_THAT(target.groups[0].environment, ::testing::IsEmpty());
  EXPECT_THAT(target.groups[1].environment, ::testing::Contains("DOTNET_ROOT=/opt/dotnet"));
  c.hosting.root = "/state/dotnet/11.0.1-0";
  EXPECT_THAT(Target().groups[1].environment,
              ::testing::Contains("DOTNET_ROOT=/state/dotnet/11.0.1-0"));
  const ServiceTarget& service = *target.groups[1].services[0];
  EXPECT_EQ(service.environment, (Settings{{"A", "resolved"}}));
  EXPECT_THAT(service.arguments, ElementsAre("--verbose"));
  ASSERT_THAT(service.listeners, SizeIs(2));
  EXPECT_EQ(service.listeners[0].endpoint, "");
  EXPECT_EQ(service.listeners[1].endpoint, "Grpc");
  EXPECT_EQ(service.isolation, Isolation::kShared);
  c.hosting.isolation = Isolation::kSolo;
  EXPECT_EQ(Target().groups[1].services[0]->isolation, Isolation::kSolo);
}

TEST_F(PoolTargetsTest, WhatIsStoppedHasANumberAndNoPlace) {
  Open({"a"});
  const PoolTarget target = Target({"a"});
  ASSERT_THAT(target.groups, SizeIs(2));
  ASSERT_THAT(target.groups[0].services, SizeIs(1));
  EXPECT_EQ(target.groups[0].services[0]->name, "b");
  EXPECT_TRUE(ids_.ids.contains("a"));
  EXPECT_NE(ids_.ids.at("a"), ids_.ids.at("b"));
}

TEST_F(PoolTargetsTest, AGroupWhoseServicesAreAllStoppedNeedsNoWorker) {
  Open({"a", "b"});
  const PoolTarget target = Target({"a", "b"});
  ASSERT_THAT(target.groups, SizeIs(1));
  EXPECT_EQ(target.groups[0].name, "steady-1");
  placement_.groups.push_back(Placed("empty", /*declared=*/true, {}));
  EXPECT_THAT(Target({"a", "b"}).groups, SizeIs(1));
}

TEST_F(PoolTargetsTest, NumbersAreKeptAndNeverGivenToAnotherService) {
  Open();
  Target();
  const ServiceIds first = ids_;
  Target();
  EXPECT_EQ(ids_, first);
  // One goes, another one comes: the number that was the first one's stays unused.
  placement_.groups[1].services = {{"d", ""}};
  Add("d", {"http://127.0.0.1:0"});
  Open();
  Target();
  for (const auto& [name, id] : first.ids) EXPECT_NE(ids_.ids.at("d"), id) << name;
  EXPECT_EQ(ids_.ids.at("c"), first.ids.at("c"));
}

TEST_F(PoolTargetsTest, AnAddressThatIsNotOpenIsShownAsItWasAskedFor) {
  EXPECT_THAT(AddressesOf(prepared_.services["b"].service, listeners_),
              ElementsAre("http://127.0.0.1:0"));
}

TEST_F(PoolTargetsTest, EveryServiceHasADataFolderOfItsOwnThatStrangersCannotRead) {
  prepared_.identities["shop"].uid = geteuid();
  prepared_.identities["shop"].gid = getegid();
  prepared_.default_identity = {};
  for (int round = 0; round < 2; ++round) {
    const absl::Status made = MakeDataFolders(prepared_, placement_);
    ASSERT_TRUE(made.ok()) << made;
  }
  for (const char* name : {"a", "b", "c"}) {
    struct stat info {};
    ASSERT_EQ(stat((folder_ / "state/data/" + name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 07777, 0750u) << name;
    EXPECT_EQ(info.st_uid, geteuid());
  }
}

TEST_F(PoolTargetsTest, AFileInTheWayOfADataFolderIsAnError) {
  prepared_.identities["shop"] = {};
  prepared_.default_identity = {};
  mkdir((folder_ / "state").c_str(), 0755);
  mkdir((folder_ / "state/data").c_str(), 0755);
  std::ofstream(folder_ / "state/data/b") << "precious";
  const absl::Status made = MakeDataFolders(prepared_, placement_);
  EXPECT_FALSE(made.ok());
  EXPECT_THAT(std::string(made.message()), HasSubstr("data/b"));
}

TEST_F(PoolTargetsTest, AFolderThatCannotBeGivenToItsUserIsAnError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may give anything to anybody";
  EXPECT_TRUE(absl::IsPermissionDenied(MakeDataFolders(prepared_, placement_)));
}

}  // namespace
}  // namespace cohost::supervisor
