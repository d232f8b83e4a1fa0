// SPDX-License-Identifier: Apache-2.0
//
// Deploying, going back, and what a reload makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/format/data_image_builder.h"
#include "supervisor/deployer/deployer.h"
#include "tests/supervisor/deployer/deployer_world.h"

namespace cohost::supervisor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::SizeIs;

class DeployTest : public ::testing::Test {
 protected:
  // Services a and b in two workers of one group.
  void Begin() {
    world_.Write(Text());
    ASSERT_THAT(world_.Start(), IsEmpty());
    ASSERT_TRUE(world_.Settled());
    ASSERT_EQ(deployer().revision(), 1);
    ASSERT_THAT(world_.SlotsWith("a", "echo"), ElementsAre("shop/0", "shop/1"));
    world_.events.clear();
  }
  std::string Text() const {
    return world_.Service("a", "  group: shop\n") + world_.Service("b", "  group: shop\n") +
           "groups: [{name: shop, workers: 2}]\n";
  }
  static DeployRequest Request(const std::string& build = "") {
    DeployRequest request;
    request.service = "a";
    if (!build.empty()) request.path = DeployerWorld::PathOfBuild(build);
    return request;
  }
  static RollbackRequest Back(uint64_t revision = 0) {
    RollbackRequest request;
    request.service = "a";
    request.revision = revision;
    return request;
  }
  Deployer& deployer() { return world_.deployer(); }
  std::string ModuleOf(const std::string& service) {
    return deployer().prepared().services.at(service).module.hash;
  }
  const std::string kEcho = DeployerWorld::HashOfBuild("echo");
  const std::string kEcho2 = DeployerWorld::HashOfBuild("echo2");

  DeployerWorld world_;
};

TEST_F(DeployTest, GivesTheNewModuleToAllWorkersOfTheServiceOnly) {
  Begin();
  DeployRequest request = Request("echo2");
  request.wait = true;
  const auto outcome = world_.Deploy(request);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(outcome->problems, IsEmpty());
  EXPECT_TRUE(outcome->changed);
  EXPECT_EQ(outcome->revision, 2);
  EXPECT_EQ(outcome->module_before, kEcho);
  EXPECT_EQ(outcome->module_after, kEcho2);
  EXPECT_THAT(outcome->serving, ElementsAre("shop/0", "shop/1"));
  EXPECT_THAT(world_.SlotsWith("a", "echo2"), ElementsAre("shop/0", "shop/1"));
  EXPECT_THAT(world_.SlotsWith("b", "echo2"), IsEmpty());
  EXPECT_THAT(world_.Kinds(), Contains("deployment_applied"));
}

TEST_F(DeployTest, IsTriedInOneWorkerBeforeTheOthersGetIt) {
  Begin();
  DeployRequest request = Request("echo2");
  request.canary_time = absl::Minutes(5);
  std::optional<absl::StatusOr<DeployOutcome>> outcome;
  deployer().Deploy({}, request, [&outcome](auto done) { outcome = std::move(done); });
  ASSERT_TRUE(world_.Until([&] { return !world_.SlotsWith("a", "echo2").empty(); }));
  ASSERT_TRUE(world_.Until([&] { return world_.SlotsWith("a", "echo").size() == 1; }));
  EXPECT_THAT(world_.SlotsWith("a", "echo2"), ElementsAre("shop/0"));
  EXPECT_THAT(world_.SlotsWith("a", "echo"), ElementsAre("shop/1"));
  EXPECT_FALSE(outcome.has_value());
  EXPECT_EQ(deployer().revision(), 1);
  world_.time.Pass(absl::Minutes(5));
  ASSERT_TRUE(world_.Until([&] { return outcome.has_value(); }));
  ASSERT_TRUE(outcome->ok()) << outcome->status();
  ASSERT_TRUE(world_.Settled());
  EXPECT_THAT(world_.SlotsWith("a", "echo2"), ElementsAre("shop/0", "shop/1"));
}

TEST_F(DeployTest, ACanaryThatDoesNotGetReadyChangesNothing) {
  Begin();
  world_.workers.behaviour.failing["a"] = "no database";
  const auto outcome = world_.Deploy(Request("echo2"));
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(outcome.status().message()), HasSubstr("no database"));
  EXPECT_EQ(deployer().revision(), 1);
  EXPECT_EQ(ModuleOf("a"), kEcho);
  ASSERT_TRUE(world_.Settled());
  EXPECT_THAT(world_.SlotsWith("a", "echo"), ElementsAre("shop/0", "shop/1"));
  EXPECT_THAT(world_.Kinds(), Contains("deploy_failed"));
  // The next one finds nothing in its way.
  world_.workers.behaviour.failing.clear();
  EXPECT_TRUE(world_.Deploy(Request("echo2")).ok());
}

TEST_F(DeployTest, ACanaryThatKillsItsWorkerChangesNothing) {
  Begin();
  world_.workers.behaviour.deadly = {"a"};
  const auto outcome = world_.Deploy(Request("echo2"));
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kFailedPrecondition) << outcome.status();
  world_.workers.behaviour.deadly.clear();
  ASSERT_TRUE(world_.Settled());
  EXPECT_THAT(world_.SlotsWith("a", "echo"), ElementsAre("shop/0", "shop/1"));
}

TEST_F(DeployTest, WhatIsThereAlreadyIsNotDeployed) {
  Begin();
  const auto same = world_.Deploy(Request());
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_FALSE(same->changed);
  EXPECT_EQ(same->revision, 1);
  EXPECT_THAT(world_.events, IsEmpty());
}

TEST_F(DeployTest, WithoutAPathTheServicesOwnFilesAreReadAgain) {
  Begin();
  world_.WriteModule("echo2");
  const auto outcome = world_.Deploy(Request());
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->module_after, kEcho2);
  // It is what the deployment file names: nothing is held.
  EXPECT_THAT(deployer().pins(), IsEmpty());
  // Only this service, though the other one has the same file.
  EXPECT_EQ(ModuleOf("b"), kEcho);
}

TEST_F(DeployTest, ABadFileIsAProblemAndChangesNothing) {
  Begin();
  DeployRequest request = Request();
  request.path = world_.folder / "text.so";
  std::ofstream(request.path) << "this is text";
  const auto outcome = world_.Deploy(request);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_THAT(outcome->problems, SizeIs(1));
  EXPECT_EQ(outcome->problems[0].key_path, "services.a.module");
  EXPECT_FALSE(outcome->changed);
  EXPECT_EQ(deployer().revision(), 1);
}

TEST_F(DeployTest, NamesMustExistAndRevisionsMustBeTheOnesExpected) {
  Begin();
  DeployRequest unknown = Request("echo2");
  unknown.service = "c";
  EXPECT_EQ(world_.Deploy(unknown).status().code(), absl::StatusCode::kNotFound);
  Caller caller;
  caller.if_revision = 9;
  EXPECT_EQ(world_.Deploy(Request("echo2"), caller).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ModuleOf("a"), kEcho);
}

TEST_F(DeployTest, TwoAtOnceComeOneAfterTheOther) {
  Begin();
  std::vector<std::string> order;
  const auto done = [&order](const std::string& name) {
    return [&order, name](const absl::StatusOr<DeployOutcome>& outcome) {
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      order.push_back(absl::StrCat(name, " ", outcome->revision));
    };
  };
  deployer().Deploy({}, Request("echo2"), done("first"));
  DeployRequest second = Request("echo");
  deployer().Deploy({}, second, done("second"));
  ASSERT_TRUE(world_.Until([&] { return order.size() == 2; }));
  EXPECT_THAT(order, ElementsAre("first 2", "second 3"));
  EXPECT_EQ(ModuleOf("a"), kEcho);
}

TEST_F(DeployTest, AReloadKeepsWhatWasDeployedUntilTheFileSaysSomethingNew) {
  Begin();
  ASSERT_TRUE(world_.Deploy(Request("echo2")).ok());
  EXPECT_THAT(deployer().pins(), ElementsAre(Key("a")));
  const auto same = world_.Reload();
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(ModuleOf("a"), kEcho2);
  EXPECT_THAT(same->changed, IsEmpty());
  // Another service's part changes nothing for this one.
  world_.Write(Text() + "");
  world_.Write(world_.Service("a", "  group: shop\n") +
               world_.Service("b", "  group: shop\n  description: other\n") +
               "groups: [{name: shop, workers: 2}]\n");
  ASSERT_TRUE(world_.Reload().ok());
  EXPECT_EQ(ModuleOf("a"), kEcho2);
  // Its own does.
  world_.Write(world_.Service("a", "  group: shop\n  warmup: [/]\n") +
               world_.Service("b", "  group: shop\n") + "groups: [{name: shop, workers: 2}]\n");
  ASSERT_TRUE(world_.Reload().ok());
  EXPECT_EQ(ModuleOf("a"), kEcho);
  EXPECT_THAT(deployer().pins(), IsEmpty());
}

TEST_F(DeployTest, AnImportEndsWhatWasHeld) {
  Begin();
  ASSERT_TRUE(world_.Deploy(Request("echo2")).ok());
  const auto outcome = world_.Reload({}, ChangeAction::kImport);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(ModuleOf("a"), kEcho);
  EXPECT_THAT(deployer().pins(), IsEmpty());
  EXPECT_EQ(world_.History("a")->changes.front().action, ChangeAction::kImport);
}

TEST_F(DeployTest, RollbackBringsBackTheVersionBefore) {
  Begin();
  ASSERT_TRUE(world_.Deploy(Request("echo2")).ok());
  ASSERT_TRUE(world_.Settled());
  RollbackRequest request = Back();
  request.wait = true;
  const auto outcome = world_.Rollback(request);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->restored, 1u);
  EXPECT_EQ(outcome->revision, 3u);
  EXPECT_EQ(outcome->module_after, kEcho);
  EXPECT_THAT(world_.SlotsWith("a", "echo"), ElementsAre("shop/0", "shop/1"));
  // It is what the deployment file says again.
  EXPECT_THAT(deployer().pins(), IsEmpty());
  // And a second one goes forward again, to the version before this one.
  EXPECT_EQ(world_.Rollback(Back())->module_after, kEcho2);
}

TEST_F(DeployTest, RollbackBringsBackSettingsThatAReloadChanged) {
  Begin();
  world_.Write(world_.Service("a", "  group: shop\n  settings: {colour: red}\n") +
               world_.Service("b", "  group: shop\n") + "groups: [{name: shop, workers: 2}]\n");
  ASSERT_TRUE(world_.Reload().ok());
  ASSERT_THAT(deployer().prepared().services.at("a").settings, SizeIs(1));
  ASSERT_TRUE(world_.Rollback(Back()).ok());
  EXPECT_THAT(deployer().prepared().services.at("a").settings, IsEmpty());
  // The file has not changed, so the next reload leaves it so.
  ASSERT_TRUE(world_.Reload().ok());
  EXPECT_THAT(deployer().prepared().services.at("a").settings, IsEmpty());
}

TEST_F(DeployTest, RollbackWorksWhenTheSourceIsGone) {
  Begin();
  world_.WriteModule("echo2");
  ASSERT_TRUE(world_.Deploy(Request()).ok());
  std::filesystem::remove(world_.folder / "m.so");
  const auto outcome = world_.Rollback(Back());
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(ModuleOf("a"), kEcho);
}

TEST_F(DeployTest, ADataImageIsDeployedAndBroughtBackLikeAModule) {
  const std::string image = world_.folder / "words.img";
  const auto write = [&](const std::string& value) {
    DataImageBuilder builder("words");
    builder.Add("key", value);
    // A new file, as it should be done; one that is written in place would do too.
    std::filesystem::remove(image);
    std::ofstream(image, std::ios::binary) << *builder.Build();
  };
  write("one");
  world_.Write(world_.Service("a", "  group: shop\n  data_images: {words: words.img}\n") +
               "groups: [{name: shop, workers: 2}]\n");
  ASSERT_THAT(world_.Start(), IsEmpty());
  ASSERT_TRUE(world_.Settled());
  const auto hash = [&] {
    return deployer().prepared().services.at("a").data_images.at("words").hash;
  };
  const std::string before = hash();
  write("two");
  DeployRequest request = Request();
  request.wait = true;
  const auto outcome = world_.Deploy(request);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->changed);
  EXPECT_THAT(outcome->serving, SizeIs(2));
  EXPECT_NE(hash(), before);
  std::filesystem::remove(image);
  ASSERT_TRUE(world_.Rollback(Back()).ok());
  EXPECT_EQ(hash(), before);
}

TEST_F(DeployTest, RollbackWithoutAnEarlierVersionSaysSo) {
  Begin();
  EXPECT_EQ(world_.Rollback(Back()).status().code(), absl::StatusCode::kNotFound);
  RollbackRequest unknown = Back();
  unknown.service = "c";
  EXPECT_EQ(world_.Rollback(unknown).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DeployTest, TheWholeDeploymentGoesBackWithItsFiles) {
  Begin();
  world_.Write(world_.Service("a", "  group: shop\n") + "groups: [{name: shop, workers: 2}]\n");
  world_.WriteModule("echo2");
  ASSERT_TRUE(world_.Reload().ok());
  ASSERT_TRUE(world_.Settled());
  ASSERT_FALSE(world_.IsHosted("b"));
  RollbackRequest request;
  request.revision = 1;
  const auto outcome = world_.Rollback(request);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->changed);
  ASSERT_TRUE(world_.Settled());
  EXPECT_TRUE(world_.IsHosted("b"));
  EXPECT_EQ(ModuleOf("a"), kEcho);
  EXPECT_EQ(ModuleOf("b"), kEcho);
  request.revision = 77;
  EXPECT_EQ(world_.Rollback(request).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DeployTest, AnOldDeploymentIsRefusedWhenTheFilesItHadAreNotKept) {
  Begin();
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(world_.Deploy(Request("echo2")).ok());
    ASSERT_TRUE(world_.Deploy(Request("echo")).ok());
  }
  const uint64_t before = deployer().revision();
  RollbackRequest request;
  request.revision = 1;
  EXPECT_EQ(world_.Rollback(request).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(deployer().revision(), before);
}

TEST_F(DeployTest, ADamagedFileIsNotBroughtBack) {
  Begin();
  ASSERT_TRUE(world_.Deploy(Request("echo2")).ok());
  const std::string stored = world_.folder / ("state/modules/" + kEcho + ".so");
  std::filesystem::permissions(stored, std::filesystem::perms::owner_all);
  std::fstream(stored, std::ios::in | std::ios::out | std::ios::binary).seekp(2000).put('!');
  std::filesystem::permissions(stored, std::filesystem::perms::owner_read);
  const auto outcome = world_.Rollback(Back());
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_THAT(outcome->problems, SizeIs(1));
  EXPECT_EQ(ModuleOf("a"), kEcho2);
}

TEST_F(DeployTest, AVersionWhoseFilesAreGoneEndsInsteadOfStoppingAStart) {
  Begin();
  ASSERT_TRUE(world_.Deploy(Request("echo2")).ok());
  ASSERT_TRUE(world_.Settled());
  std::filesystem::remove(world_.folder / ("state/modules/" + kEcho2 + ".so"));
  world_.Restart();
  ASSERT_THAT(world_.Start(), IsEmpty());
  EXPECT_EQ(ModuleOf("a"), kEcho);
  EXPECT_THAT(deployer().pins(), IsEmpty());
  EXPECT_THAT(deployer().prepared().remarks, Contains(HasSubstr("service 'a'")));
}

TEST_F(DeployTest, AnotherGroupInTheFileIsSomethingNew) {
  Begin();
  ASSERT_TRUE(world_.Deploy(Request("echo2")).ok());
  world_.Write(world_.Service("a", "  group: other\n") + world_.Service("b", "  group: shop\n") +
               "groups: [{name: shop, workers: 2}, {name: other}]\n");
  ASSERT_TRUE(world_.Reload().ok());
  EXPECT_THAT(deployer().pins(), IsEmpty());
  ASSERT_TRUE(world_.Settled());
  EXPECT_THAT(world_.SlotsWith("a", "echo"), ElementsAre("other/0"));
}

TEST_F(DeployTest, ABetterVersionIsTriedThoughTheWorkerIsBackedOff) {
  world_.workers.behaviour.deadly = {"a"};
  world_.Write(world_.Service("a", "  group: shop\n") + "groups: [{name: shop}]\n");
  ASSERT_THAT(world_.Start(), IsEmpty());
  ASSERT_TRUE(world_.Until([&] {
    HostSnapshot snapshot;
    world_.pool().FillSnapshot(snapshot);
    return snapshot.workers.size() == 1 && !snapshot.workers[0].last_exit.empty();
  }));
  world_.workers.behaviour.deadly.clear();
  DeployRequest request = Request("echo2");
  request.wait = true;
  const auto outcome = world_.Deploy(request);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(outcome->serving, ElementsAre("shop/0"));
}

TEST_F(DeployTest, HistoryTellsWhoDidWhat) {
  Begin();
  Caller caller;
  caller.uid = 42;
  ASSERT_TRUE(world_.Deploy(Request("echo2"), caller).ok());
  const auto service = world_.History("a");
  ASSERT_TRUE(service.ok()) << service.status();
  ASSERT_THAT(service->changes, SizeIs(2));
  EXPECT_EQ(service->changes[0].revision, 2u);
  EXPECT_EQ(service->changes[0].action, ChangeAction::kDeploy);
  EXPECT_EQ(service->changes[0].uid, 42u);
  EXPECT_EQ(service->changes[0].files.module, kEcho2);
  EXPECT_EQ(service->changes[1].action, ChangeAction::kStart);
  EXPECT_EQ(service->held_since, 2u);
  const auto all = world_.History("");
  ASSERT_THAT(all->revisions, SizeIs(2));
  EXPECT_EQ(all->revisions[0].summary, "1 changed");
  EXPECT_EQ(all->current, 2u);
  EXPECT_THAT(world_.History("b")->changes, SizeIs(1));
  EXPECT_EQ(world_.History("c").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DeployTest, ASupervisorThatGoesOnKeepsTheFilesWhateverTheSourcesAreNow) {
  Begin();
  ASSERT_TRUE(world_.Deploy(Request("echo2")).ok());
  ASSERT_TRUE(world_.Settled());
  std::ofstream(world_.folder / "m.so") << "half a mod";
  world_.Restart();
  ASSERT_THAT(world_.GoOn(), IsEmpty());
  EXPECT_EQ(ModuleOf("a"), kEcho2);
  EXPECT_EQ(ModuleOf("b"), kEcho);
  EXPECT_EQ(deployer().revision(), 2u);
  EXPECT_THAT(deployer().pins(), ElementsAre(Key("a")));
  // Nobody is told to have done it again.
  EXPECT_EQ(world_.History("")->revisions[0].action, ChangeAction::kDeploy);
}

TEST_F(DeployTest, AStartFromTheFileKeepsWhatWasDeployed) {
  Begin();
  ASSERT_TRUE(world_.Deploy(Request("echo2")).ok());
  ASSERT_TRUE(world_.Settled());
  world_.Restart();
  ASSERT_THAT(world_.Start(), IsEmpty());
  EXPECT_EQ(ModuleOf("a"), kEcho2);
  EXPECT_EQ(deployer().revision(), 2u);
}

TEST_F(DeployTest, AModuleThatChangedBetweenTwoStartsIsARevision) {
  Begin();
  world_.WriteModule("echo2");
  world_.Restart();
  ASSERT_THAT(world_.Start(), IsEmpty());
  EXPECT_EQ(deployer().revision(), 2u);
  EXPECT_THAT(world_.History("b")->changes, SizeIs(2));
}

TEST_F(DeployTest, AStoppedServiceIsDeployedWithoutACanary) {
  Begin();
  ASSERT_TRUE(world_.Stop("a").ok());
  ASSERT_TRUE(world_.Settled());
  DeployRequest request = Request("echo2");
  request.wait = true;
  const auto outcome = world_.Deploy(request);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->changed);
  EXPECT_FALSE(world_.IsHosted("a"));
  ASSERT_TRUE(world_.StartService("a").ok());
  ASSERT_TRUE(world_.Settled());
  EXPECT_THAT(world_.SlotsWith("a", "echo2"), ElementsAre("shop/0", "shop/1"));
}

TEST_F(DeployTest, AStopWhileACanaryIsTriedEndsIt) {
  Begin();
  DeployRequest request = Request("echo2");
  request.canary_time = absl::Minutes(5);
  std::optional<absl::StatusOr<DeployOutcome>> outcome;
  deployer().Deploy({}, request, [&outcome](auto done) { outcome = std::move(done); });
  ASSERT_TRUE(world_.Until([&] { return !world_.SlotsWith("a", "echo2").empty(); }));
  ASSERT_TRUE(world_.Stop("a").ok());
  ASSERT_TRUE(world_.Until([&] { return outcome.has_value(); }));
  EXPECT_FALSE(outcome->ok());
  EXPECT_EQ(ModuleOf("a"), kEcho);
  // The stop itself follows the canary's end.
  EXPECT_TRUE(world_.Until([&] { return !world_.IsHosted("a"); }));
}

TEST_F(DeployTest, TheStoreKeepsWhatHistoryCanGoBackTo) {
  Begin();
  ASSERT_TRUE(world_.Deploy(Request("echo2")).ok());
  const auto outcome = world_.MaintainStore(/*check=*/true, /*collect=*/true);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->check.files, 2u);
  EXPECT_THAT(outcome->check.damaged, IsEmpty());
  EXPECT_THAT(outcome->collection.removed, IsEmpty());
  EXPECT_TRUE(world_.Rollback(Back()).ok());
}

TEST_F(DeployTest, ARollbackWhoseFilesAreGoneNamesThem) {
  Begin();
  ASSERT_TRUE(world_.Deploy(Request("echo2")).ok());
  std::filesystem::remove(world_.folder / ("state/modules/" + kEcho + ".so"));
  const auto outcome = world_.Rollback(Back());
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_THAT(outcome->problems, SizeIs(1));
  EXPECT_THAT(outcome->problems[0].message, HasSubstr(kEcho));
  EXPECT_EQ(ModuleOf("a"), kEcho2);
}

}  // namespace
}  // namespace cohost::supervisor
