// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/deployer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "supervisor/config/address_text.h"
#include "supervisor/listen/listener.h"
#include "tests/supervisor/deployer/deployer_world.h"

namespace cohost::supervisor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::SizeIs;

class DeployerTest : public ::testing::Test {
 protected:
  // Services a and b, in revision 1.
  void Begin() {
    world_.Write(Service("a") + Service("b"));
    ASSERT_THAT(world_.Start(), IsEmpty());
    ASSERT_TRUE(world_.Settled());
    ASSERT_EQ(deployer().revision(), 1);
    world_.events.clear();
  }
  Deployer& deployer() { return world_.deployer(); }
  std::string Service(const std::string& name, const std::string& more = "") {
    return world_.Service(name, more);
  }
  static Caller IfRevision(uint64_t revision) {
    Caller caller;
    caller.uid = 42;
    caller.if_revision = revision;
    return caller;
  }
  // Another program's socket where a service of this name would listen.
  Listener Occupy(const std::string& name) {
    return OpenListener(*ParseAddress("http+unix:" + world_.Socket(name))).value();
  }
  // Everything that a change would change.
  std::vector<std::string> Everything() {
    std::vector<std::string> all = world_.ListenerKeys();
    for (const auto& [name, entry] : world_.holder.entries()) all.push_back(name);
    for (const auto& [name, service] : deployer().prepared().services) {
      all.push_back(absl::StrCat(name, " ", service.revision));
    }
    all.push_back(absl::StrCat("revision ", deployer().revision()));
    for (const std::string& worker : world_.workers.Names()) {
      for (const uint64_t id : world_.workers.Find(worker)->services()) {
        all.push_back(absl::StrCat(worker, " has ", id));
      }
    }
    return all;
  }

  DeployerWorld world_;
};

TEST_F(DeployerTest, AStartThatCannotBePreparedOpensNothing) {
  world_.Write(Service("a") + "  data_images: {words: none.img}\n");
  const std::vector<ConfigProblem> problems = world_.Start();
  ASSERT_THAT(problems, Not(IsEmpty()));
  EXPECT_THAT(world_.ListenerKeys(), IsEmpty());
  EXPECT_FALSE(world_.HasSocket("a"));
}

TEST_F(DeployerTest, AStartWhoseAddressIsTakenSaysSoAndLeavesNothingBehind) {
  const Listener other = Occupy("b");
  world_.Write(Service("a") + Service("b"));
  const std::vector<ConfigProblem> problems = world_.Start();
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_THAT(problems[0].message, ::testing::HasSubstr(world_.Socket("b")));
  EXPECT_FALSE(world_.HasSocket("a"));
  EXPECT_TRUE(world_.HasSocket("b"));
  EXPECT_EQ(world_.CloseState().revision, std::nullopt);
}

TEST_F(DeployerTest, TheNextSupervisorFindsTheDeploymentTheNumbersAndTheStops) {
  Begin();
  const ServiceIds ids = deployer().ids();
  ASSERT_TRUE(world_.Stop("b").ok());
  world_.Restart();
  ASSERT_THAT(world_.Start(), IsEmpty());
  EXPECT_THAT(deployer().stopped(), ElementsAre("b"));
  EXPECT_FALSE(world_.HasSocket("b"));
  EXPECT_EQ(deployer().ids(), ids);
  ASSERT_TRUE(world_.Settled());
  EXPECT_TRUE(world_.IsHosted("a"));
  EXPECT_FALSE(world_.IsHosted("b"));
  // The worker that was there serves on.
  EXPECT_THAT(world_.workers.launcher().launched(), SizeIs(1));
}

TEST_F(DeployerTest, TheSameFileIsTheSameRevisionForTheNextSupervisorAndAnotherOneIsNot) {
  Begin();
  world_.Restart();
  ASSERT_THAT(world_.Start(), IsEmpty());
  EXPECT_EQ(deployer().revision(), 1);
  world_.Restart();
  world_.Write(Service("a"));
  ASSERT_THAT(world_.Start(), IsEmpty());
  EXPECT_EQ(deployer().revision(), 2);
  EXPECT_EQ(world_.CloseState().revision->revision, 2);
}

TEST_F(DeployerTest, ARevisionRisesWithTheTextOrTheFilesAndNotWithoutAChange) {
  Begin();
  absl::StatusOr<ReloadOutcome> outcome = world_.Reload();
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->revision, 1);
  EXPECT_THAT(outcome->changed, IsEmpty());

  world_.Write("# said otherwise\n" + Service("b") + Service("a"));
  outcome = world_.Reload();
  EXPECT_THAT(outcome->problems, IsEmpty());
  EXPECT_THAT(outcome->changed, IsEmpty());

  const uint64_t before = deployer().revision();
  world_.WriteModule("echo2");
  outcome = world_.Reload();
  EXPECT_EQ(outcome->revision, before + 1);
  EXPECT_THAT(outcome->changed, ElementsAre("a", "b"));
  EXPECT_EQ(deployer().revision(), before + 1);

  world_.Write(Service("a", "  limits: {concurrency: 3}\n") + Service("c"));
  outcome = world_.Reload();
  EXPECT_EQ(outcome->revision, before + 2);
  EXPECT_THAT(outcome->added, ElementsAre("c"));
  EXPECT_THAT(outcome->removed, ElementsAre("b"));
  EXPECT_THAT(outcome->changed, ElementsAre("a"));
  ASSERT_TRUE(world_.Settled());
  EXPECT_TRUE(world_.IsHosted("c"));
  EXPECT_FALSE(world_.HasSocket("b"));
  EXPECT_EQ(world_.CloseState().revision->revision, before + 2);
}

TEST_F(DeployerTest, AFileWithAMistakeChangesNothing) {
  Begin();
  const std::vector<std::string> before = Everything();
  world_.Write(Service("a") + Service("c") + "  limits: {concurency: 3}\n");
  const absl::StatusOr<ReloadOutcome> outcome = world_.Reload(IfRevision(1));
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_THAT(outcome->problems, Not(IsEmpty()));
  EXPECT_GT(outcome->problems[0].line, 0);
  EXPECT_EQ(outcome->revision, 1);
  EXPECT_THAT(outcome->added, IsEmpty());
  EXPECT_EQ(Everything(), before);
  ASSERT_THAT(world_.Kinds(), ElementsAre("deployment_refused"));
  EXPECT_EQ(world_.events[0].uid, 42u);
}

TEST_F(DeployerTest, AModuleThatIsNoneChangesNothing) {
  Begin();
  const std::vector<std::string> before = Everything();
  // It is read before "d", and is good.
  std::string d = Service("d");
  d.replace(d.find("m.so"), 4, "d.yaml");
  world_.Write(Service("c") + d);
  const absl::StatusOr<ReloadOutcome> outcome = world_.Reload();
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(outcome->problems, Not(IsEmpty()));
  EXPECT_EQ(Everything(), before);
}

TEST_F(DeployerTest, AReloadThatFailsHalfWayChangesNothing) {
  Begin();
  const Listener other = Occupy("d");
  const std::vector<std::string> before = Everything();
  // Of its addresses one is new and free, one is taken, and one is not wanted any more.
  world_.Write(Service("a", "  limits: {concurrency: 3}\n") + Service("c") + Service("d"));
  const absl::StatusOr<ReloadOutcome> outcome = world_.Reload();
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_THAT(outcome->problems, SizeIs(1));
  EXPECT_THAT(outcome->problems[0].message, ::testing::HasSubstr(world_.Socket("d")));
  EXPECT_EQ(outcome->revision, 1);
  EXPECT_THAT(outcome->added, IsEmpty());
  EXPECT_THAT(outcome->changed, IsEmpty());
  EXPECT_THAT(outcome->removed, IsEmpty());
  ASSERT_TRUE(world_.Settled());
  EXPECT_EQ(Everything(), before);
  EXPECT_FALSE(world_.HasSocket("c"));
  EXPECT_TRUE(world_.HasSocket("b"));
  EXPECT_THAT(deployer().ids().ids, Not(Contains(Key("c"))));
  EXPECT_THAT(deployer().placement().record.services, Not(Contains(Key("c"))));
  EXPECT_THAT(world_.Kinds(), ElementsAre("deployment_refused"));
}

TEST_F(DeployerTest, TheHostsOwnPlacesCannotChangeWhileItRuns) {
  Begin();
  const std::vector<std::string> before = Everything();
  world_.settings.load_options = {};
  world_.Write(Service("a") + "grouping: {max_services_per_worker: 3}\n");
  // The file's host has another metrics address now.
  std::string text =
      absl::StrCat("version: 1\nhost: {runtime_dir: ", world_.folder / "run",
                   ", state_dir: ", world_.folder / "state",
                   ", metrics: {listen: \"127.0.0.1:0\"}}\nservices:\n", Service("a"));
  std::ofstream(world_.settings.deployment_file) << text;
  const absl::StatusOr<ReloadOutcome> outcome = world_.Reload();
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_THAT(outcome->problems, SizeIs(1));
  EXPECT_THAT(outcome->problems[0].message, ::testing::HasSubstr("host"));
  EXPECT_EQ(Everything(), before);
}

TEST_F(DeployerTest, WhoExpectsAnotherRevisionChangesNothing) {
  Begin();
  const std::vector<std::string> before = Everything();
  world_.Write(Service("c"));
  EXPECT_TRUE(absl::IsFailedPrecondition(world_.Reload(IfRevision(2)).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(world_.Stop("a", IfRevision(7)).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(world_.StartService("a", IfRevision(7)).status()));
  EXPECT_EQ(Everything(), before);
  EXPECT_THAT(world_.events, IsEmpty());
  EXPECT_TRUE(world_.Stop("a", IfRevision(1)).ok());
}

TEST_F(DeployerTest, ARevisionIsComparedWhenItsTurnComes) {
  Begin();
  world_.Write(Service("c"));
  std::vector<absl::StatusOr<ReloadOutcome>> outcomes;
  for (int i = 0; i < 2; ++i) {
    deployer().Reload(IfRevision(1), ChangeAction::kReload,
                      [&](auto outcome) { outcomes.push_back(std::move(outcome)); });
  }
  EXPECT_THAT(outcomes, IsEmpty());
  ASSERT_TRUE(world_.Until([&] { return outcomes.size() == 2; }));
  ASSERT_TRUE(outcomes[0].ok()) << outcomes[0].status();
  EXPECT_EQ(outcomes[0]->revision, 2);
  EXPECT_TRUE(absl::IsFailedPrecondition(outcomes[1].status()));
}

TEST_F(DeployerTest, ReloadsWaitForEachOtherAndTooManyAreRefusedAtOnce) {
  Begin();
  int done = 0;
  absl::Status refused;
  int accepted = 0;
  while (refused.ok() && accepted < 100) {
    deployer().Reload({}, ChangeAction::kReload, [&](const absl::StatusOr<ReloadOutcome>& outcome) {
      if (outcome.ok()) {
        ++done;
      } else {
        refused = outcome.status();
      }
    });
    accepted += refused.ok() ? 1 : 0;
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_GT(accepted, 1);
  ASSERT_TRUE(world_.Until([&] { return done == accepted; }));
  // There is room again.
  EXPECT_TRUE(world_.Reload().ok());
}

TEST_F(DeployerTest, WhoReloadsFromWithinAnAnswerIsNext) {
  Begin();
  bool second = false;
  deployer().Reload({}, ChangeAction::kReload, [&](const absl::StatusOr<ReloadOutcome>&) {
    deployer().Reload({}, ChangeAction::kReload,
                      [&](const absl::StatusOr<ReloadOutcome>& outcome) { second = outcome.ok(); });
  });
  EXPECT_TRUE(world_.Until([&] { return second; }));
}

TEST_F(DeployerTest, AStopClosesTheAddressAndSurvives) {
  Begin();
  const absl::StatusOr<uint64_t> id = world_.Stop("a", IfRevision(0));
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_FALSE(world_.HasSocket("a"));
  EXPECT_TRUE(world_.HasSocket("b"));
  ASSERT_TRUE(world_.Until([&] { return !world_.IsHosted("a"); }));
  EXPECT_TRUE(world_.IsHosted("b"));
  EXPECT_THAT(world_.Kinds(), ElementsAre("listener_closed", "operator_stop"));
  EXPECT_EQ(world_.events[1].id, *id);
  EXPECT_EQ(world_.events[1].service, "a");
  EXPECT_EQ(world_.events[1].uid, 42u);
  const StateSnapshot kept = world_.CloseState();
  ASSERT_THAT(kept.operator_stops, ElementsAre(Key("a")));
  EXPECT_EQ(kept.operator_stops.at("a").uid, 42u);
}

TEST_F(DeployerTest, AStoppedServiceStaysStoppedThroughReloadsUntilItIsStarted) {
  Begin();
  ASSERT_TRUE(world_.Stop("a").ok());
  world_.WriteModule("echo2");
  ASSERT_TRUE(world_.Reload().ok());
  ASSERT_TRUE(world_.Settled());
  EXPECT_FALSE(world_.HasSocket("a"));
  EXPECT_FALSE(world_.IsHosted("a"));
  ASSERT_TRUE(world_.StartService("a").ok());
  EXPECT_TRUE(world_.HasSocket("a"));
  EXPECT_TRUE(world_.Until([&] { return world_.IsHosted("a"); }));
  EXPECT_THAT(world_.CloseState().operator_stops, IsEmpty());
}

TEST_F(DeployerTest, AStopWhileAReloadIsPreparedIsInForceAfterIt) {
  Begin();
  world_.WriteModule("echo2");
  bool reloaded = false;
  deployer().Reload({}, ChangeAction::kReload, [&](const auto&) { reloaded = true; });
  ASSERT_FALSE(reloaded);
  ASSERT_TRUE(world_.Stop("a").ok());
  ASSERT_TRUE(world_.Until([&] { return reloaded; }));
  EXPECT_THAT(deployer().stopped(), ElementsAre("a"));
  EXPECT_FALSE(world_.HasSocket("a"));
}

TEST_F(DeployerTest, AStartWhoseAddressIsTakenMeanwhileFailsAndTheServiceStaysStopped) {
  Begin();
  ASSERT_TRUE(world_.Stop("a").ok());
  world_.events.clear();
  std::optional<Listener> other = Occupy("a");
  EXPECT_FALSE(world_.StartService("a").ok());
  EXPECT_THAT(deployer().stopped(), ElementsAre("a"));
  EXPECT_THAT(world_.events, IsEmpty());
  other.reset();
  EXPECT_TRUE(world_.StartService("a").ok());
  EXPECT_THAT(deployer().stopped(), IsEmpty());
}

TEST_F(DeployerTest, StopAndStartOfAnUnknownServiceAreErrors) {
  Begin();
  EXPECT_TRUE(absl::IsNotFound(world_.Stop("none").status()));
  EXPECT_TRUE(absl::IsNotFound(world_.StartService("none").status()));
  EXPECT_THAT(deployer().stopped(), IsEmpty());
  EXPECT_THAT(world_.events, IsEmpty());
}

TEST_F(DeployerTest, AnOperatorsStartTriesAFailedServiceAgain) {
  world_.workers.behaviour.deadly.insert("a");
  world_.Write(Service("a") + Service("b"));
  ASSERT_THAT(world_.Start(), IsEmpty());
  ASSERT_TRUE(world_.Settled());
  ASSERT_FALSE(world_.IsHosted("a"));
  world_.workers.behaviour.deadly.clear();
  ASSERT_TRUE(world_.StartService("a").ok());
  EXPECT_TRUE(world_.Until([&] { return world_.IsHosted("a"); }));
}

TEST_F(DeployerTest, AStopThatCannotBeSavedIsInForceAndSaysThatItWillNotLast) {
  Begin();
  world_.CloseState();
  EXPECT_FALSE(world_.Stop("a").ok());
  EXPECT_THAT(deployer().stopped(), ElementsAre("a"));
  EXPECT_FALSE(world_.HasSocket("a"));
}

TEST_F(DeployerTest, APlanTouchesNothingAndSaysWhatWouldMove) {
  Begin();
  const std::vector<std::string> before = Everything();
  world_.Write(Service("a") + Service("c"));
  const PlanOutcome plan = PlanDeployment(world_.settings, "", "", deployer().placement().record);
  EXPECT_THAT(plan.problems, IsEmpty());
  ASSERT_THAT(plan.groups, SizeIs(1));
  EXPECT_EQ(plan.groups[0].name, "steady-1");
  EXPECT_FALSE(plan.groups[0].declared);
  EXPECT_EQ(plan.groups[0].services.size(), 2);
  EXPECT_EQ(Everything(), before);

  const PlanOutcome wrong =
      PlanDeployment(world_.settings, "version: 9\n", "other.yaml", deployer().placement().record);
  ASSERT_THAT(wrong.problems, Not(IsEmpty()));
  EXPECT_THAT(wrong.problems[0].file, ::testing::HasSubstr("other.yaml"));
  EXPECT_THAT(wrong.groups, IsEmpty());
}

}  // namespace
}  // namespace cohost::supervisor
