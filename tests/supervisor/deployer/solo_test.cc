// SPDX-License-Identifier: Apache-2.0
//
// Applications that their check sets apart: where they are placed, and where that is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "supervisor/deployer/deployer.h"
#include "tests/supervisor/deployer/deployer_world.h"
#include "tests/supervisor/dotnet/dotnet_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SoloTest : public ::testing::Test {
 protected:
  SoloTest() {
    ::setenv("DOTNET_ROOT", dotnet_.root().c_str(), 1);
    Publish("plain", false);
    Publish("exits", true);
  }
  ~SoloTest() override { ::unsetenv("DOTNET_ROOT"); }

  // An application in a folder of that name; whether it ends its process.
  void Publish(const std::string& name, bool exits) {
    AssemblyBytes bytes;
    if (exits) bytes.uses = {{"System", "Environment", "Exit"}};
    dotnet_.AddApplication(bytes);
    std::filesystem::remove_all(dotnet_.path(name));
    std::filesystem::rename(dotnet_.path("app"), dotnet_.path(name));
  }
  std::string Line(const std::string& service, const std::string& application,
                   const std::string& more = "") const {
    return absl::StrCat(
        "- {name: ", service, ", runtime: dotnet, app: \"", dotnet_.path(application),
        "/App.dll\", listen: [\"http+unix:", world_.Socket(service), "\"]", more, "}\n");
  }
  std::string GroupOf(const std::string& service) {
    for (const PlacedGroup& group : world_.deployer().placement().groups) {
      for (const PlacedService& placed : group.services) {
        if (placed.name == service) return group.name;
      }
    }
    return "";
  }
  static auto SoloEventOf(const std::string& service) {
    return AllOf(Field(&HostEvent::kind, "service_solo"), Field(&HostEvent::service, service),
                 Field(&HostEvent::message, HasSubstr("App.dll uses System.Environment.Exit")));
  }

  DotnetFolder dotnet_;
  DeployerWorld world_;
};

TEST_F(SoloTest, OneIsAloneWithoutAWordOfTheDeploymentAndAnEventSaysSo) {
  world_.Write(Line("a", "plain") + Line("b", "exits") + Line("c", "plain"));
  ASSERT_THAT(world_.Start(), IsEmpty());
  ASSERT_TRUE(world_.Settled());
  EXPECT_EQ(GroupOf("a"), GroupOf("c"));
  EXPECT_NE(GroupOf("a"), GroupOf("b"));
  EXPECT_THAT(world_.events, Contains(SoloEventOf("b")));
  EXPECT_THAT(world_.events, Not(Contains(Field(&HostEvent::service, "a"))));
  // Once, not at every change.
  world_.events.clear();
  world_.Write(Line("a", "plain") + Line("b", "exits"));
  ASSERT_TRUE(world_.Reload().ok());
  EXPECT_THAT(world_.events, Not(Contains(SoloEventOf("b"))));
}

TEST_F(SoloTest, ThePlanGivesTheReason) {
  world_.Write(Line("a", "plain") + Line("b", "exits"));
  const PlanOutcome plan = PlanDeployment(world_.settings, "", "", {});
  ASSERT_THAT(plan.problems, IsEmpty());
  ASSERT_THAT(plan.groups, SizeIs(2));
  EXPECT_THAT(plan.groups,
              Contains(Field(&PlannedGroupView::reason,
                             HasSubstr("it needs a worker of its own: App.dll uses"))));
  EXPECT_THAT(plan.groups,
              Contains(Field(&PlannedGroupView::reason, HasSubstr("runtime dotnet 10.0.12"))));
}

TEST_F(SoloTest, IsolationOverridesTheCheckBothWays) {
  world_.Write(Line("a", "plain", ", isolation: solo") + Line("b", "exits", ", isolation: shared") +
               Line("c", "plain"));
  ASSERT_THAT(world_.Start(), IsEmpty());
  EXPECT_EQ(GroupOf("b"), GroupOf("c"));
  EXPECT_NE(GroupOf("a"), GroupOf("c"));
  EXPECT_THAT(world_.events, Not(Contains(Field(&HostEvent::kind, "service_solo"))));
}

TEST_F(SoloTest, ADeclaredGroupThatHoldsOthersIsAnErrorThatSaysWhatToDo) {
  world_.Write(Line("a", "plain", ", group: g") + Line("b", "exits", ", group: g") +
               "groups: [{name: g}]\n");
  const std::vector<ConfigProblem> problems = world_.Start();
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_THAT(problems[0].message,
              AllOf(HasSubstr("service 'b' cannot be in group 'g'"), HasSubstr("name a group"),
                    HasSubstr("isolation: shared")));
}

TEST_F(SoloTest, AVersionThatNeedsToBeAloneMovesWithoutATrialBesideTheOldOne) {
  world_.Write(Line("a", "plain") + Line("b", "plain"));
  ASSERT_THAT(world_.Start(), IsEmpty());
  ASSERT_TRUE(world_.Settled());
  ASSERT_EQ(GroupOf("a"), GroupOf("b"));
  DeployRequest request;
  request.service = "b";
  request.path = dotnet_.path("exits") + "/App.dll";
  const auto outcome = world_.Deploy(request);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_THAT(outcome->problems, IsEmpty());
  EXPECT_TRUE(outcome->changed);
  EXPECT_THAT(outcome->remarks, Contains(HasSubstr("not tried in one worker first")));
  EXPECT_THAT(outcome->remarks, Contains(HasSubstr("it gets a worker of its own")));
  EXPECT_NE(GroupOf("a"), GroupOf("b"));
  EXPECT_TRUE(world_.Settled());
}

TEST_F(SoloTest, ItStaysSoUnderTheNextSupervisor) {
  world_.Write(Line("a", "plain") + Line("b", "exits"));
  ASSERT_THAT(world_.Start(), IsEmpty());
  ASSERT_TRUE(world_.Settled());
  const std::string group = GroupOf("b");
  world_.Restart();
  ASSERT_THAT(world_.GoOn(), IsEmpty());
  EXPECT_EQ(GroupOf("b"), group);
  EXPECT_EQ(world_.deployer().prepared().services.at("b").hosting.isolation, Isolation::kSolo);
}

TEST_F(SoloTest, VersionsOfDotnetAreInDifferentGroupsEachWithItsOwn) {
  dotnet_.AddVersion("11.0.1");
  dotnet_.AddApplication({}, "11.0.0");
  std::filesystem::rename(dotnet_.path("app"), dotnet_.path("later"));
  world_.Write(Line("a", "plain") + Line("b", "later") + Line("c", "later"));
  ASSERT_THAT(world_.Start(), IsEmpty());
  EXPECT_EQ(GroupOf("b"), GroupOf("c"));
  EXPECT_NE(GroupOf("a"), GroupOf("b"));
  const auto& services = world_.deployer().prepared().services;
  EXPECT_EQ(services.at("a").hosting.root, "");
  EXPECT_THAT(services.at("b").hosting.root, HasSubstr("/dotnet/11.0.1-"));
}

}  // namespace
}  // namespace cohost::supervisor
