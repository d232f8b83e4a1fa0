// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/placement/placement.h"
#include "tests/supervisor/placement/services.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PlacementInput SteadyServices(int count) {
  PlacementInput input;
  for (int i = 0; i < count; ++i) {
    input.services.push_back(MakeService("s" + std::to_string(100 + i), LoadClass::kSteady));
  }
  return input;
}

PlacementInput After(PlacementInput input, const Placement& placement) {
  input.previous = placement.record;
  return input;
}

TEST(DerivedGroups, FortySevenServicesOfFiveClassesNeedSix) {
  PlacementInput input;
  const auto add = [&](LoadClass load_class, int count) {
    for (int i = 0; i < count; ++i) {
      input.services.push_back(
          MakeService("s" + std::to_string(input.services.size()), load_class));
    }
  };
  add(LoadClass::kLatency, 8);
  add(LoadClass::kSteady, 18);
  add(LoadClass::kBursty, 9);
  add(LoadClass::kBatch, 4);
  add(LoadClass::kIdle, 8);
  const auto placement = Place(input);
  ASSERT_TRUE(placement.ok()) << placement.status();
  std::vector<std::string> names;
  for (const PlacedGroup& group : placement->groups) names.push_back(group.name);
  EXPECT_THAT(names,
              ElementsAre("batch-1", "bursty-1", "idle-1", "latency-1", "steady-1", "steady-2"));
  EXPECT_EQ(placement->groups[4].services.size(), 9u);
  EXPECT_EQ(placement->groups[5].services.size(), 9u);
}

TEST(DerivedGroups, ExplainThemselves) {
  const auto placement = Place(SteadyServices(2));
  EXPECT_EQ(placement->groups[0].reason,
            "class steady, runtime native: 2 of 16 services, 8Mi of 256Mi declared memory, "
            "0.02 of 1 cores in the busiest hour; closest limit "
            "grouping.max_services_per_worker (16)");
  EXPECT_EQ(placement->groups[0].services[0].reason,
            "new; a new group, since none of its class had room");
}

TEST(DerivedGroups, AddingAServiceMovesNoOther) {
  const PlacementInput input = SteadyServices(16);
  const auto before = Place(input);
  PlacementInput more = After(input, *before);
  more.services.push_back(MakeService("a-first", LoadClass::kSteady));
  const auto after = Place(more);
  EXPECT_THAT(after->moved, IsEmpty());
  EXPECT_EQ(GroupNameOf(*after, "a-first"), "steady-2");
  EXPECT_EQ(GroupOf(*after, "s100")->services[0].reason, "stays where it was");
}

TEST(DerivedGroups, ALowerLimitMovesOnlyWhatIsTooMuch) {
  const PlacementInput input = SteadyServices(10);
  PlacementInput tighter = After(input, *Place(input));
  tighter.grouping.max_services_per_worker = 8;
  const auto after = Place(tighter);
  EXPECT_THAT(after->moved, ElementsAre("s108", "s109"));
  EXPECT_THAT(GroupOf(*after, "s109")->services[1].reason,
              HasSubstr("steady-1 was over grouping.max_services_per_worker (8)"));
}

TEST(DerivedGroups, AServiceThatGrowsLeavesWhenItIsTooMuch) {
  const PlacementInput input = SteadyServices(10);
  PlacementInput grown = After(input, *Place(input));
  grown.services[3].load.memory = MiB(240);
  EXPECT_THAT(Place(grown)->moved, ElementsAre("s103"));
}

TEST(DerivedGroups, AServiceOfAnotherClassLeavesItsGroup) {
  const PlacementInput input = SteadyServices(3);
  PlacementInput changed = After(input, *Place(input));
  changed.services[1].load.load_class = LoadClass::kBatch;
  const auto after = Place(changed);
  EXPECT_THAT(after->moved, ElementsAre("s101"));
  EXPECT_EQ(GroupNameOf(*after, "s101"), "batch-1");
}

TEST(DerivedGroups, RuntimeAndOverlapKeepServicesApart) {
  PlacementInput input = SteadyServices(4);
  input.services[1].runtime = Runtime::kDotnet;
  input.services[2].overlap = false;
  const auto placement = Place(input);
  ASSERT_EQ(placement->groups.size(), 3u);
  EXPECT_EQ(GroupNameOf(*placement, "s100"), GroupNameOf(*placement, "s103"));
  EXPECT_EQ(GroupOf(*placement, "s101")->runtime, Runtime::kDotnet);
  EXPECT_FALSE(GroupOf(*placement, "s102")->overlap);
}

TEST(DerivedGroups, VersionsOfTheRuntimeKeepServicesApart) {
  PlacementInput input = SteadyServices(5);
  for (PlacementService& service : input.services) {
    service.runtime = Runtime::kDotnet;
    service.framework = "10.0.12";
  }
  input.services[1].framework = input.services[3].framework = "11.0.1";
  const auto placement = Place(input);
  ASSERT_EQ(placement->groups.size(), 2u);
  EXPECT_EQ(GroupNameOf(*placement, "s101"), GroupNameOf(*placement, "s103"));
  EXPECT_EQ(GroupOf(*placement, "s101")->framework, "11.0.1");
  EXPECT_EQ(GroupOf(*placement, "s100")->framework, "10.0.12");
  EXPECT_THAT(GroupOf(*placement, "s101")->reason, HasSubstr("runtime dotnet 11.0.1"));
}

TEST(DerivedGroups, AnotherVersionOfTheRuntimeForAllMovesNobody) {
  PlacementInput input = SteadyServices(5);
  for (PlacementService& service : input.services) service.framework = "10.0.12";
  const auto before = Place(input);
  ASSERT_TRUE(before.ok()) << before.status();
  input.previous = before->record;
  for (PlacementService& service : input.services) service.framework = "10.0.13";
  const auto after = Place(input);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_THAT(after->moved, IsEmpty());
}

TEST(DerivedGroups, WhoMustBeAloneIsAlone) {
  PlacementInput input = SteadyServices(3);
  input.services[0].alone = true;
  input.services[1].alone = true;
  input.services[1].alone_because = "it says so";
  const auto placement = Place(input);
  ASSERT_EQ(placement->groups.size(), 3u);
  EXPECT_THAT(placement->remarks, IsEmpty());
  EXPECT_THAT(GroupOf(*placement, "s100")->reason, HasSubstr("it needs a worker of its own"));
  EXPECT_THAT(GroupOf(*placement, "s101")->reason,
              HasSubstr("it needs a worker of its own: it says so"));
}

TEST(DerivedGroups, AServiceOverALimitByItselfIsAloneWithARemark) {
  PlacementInput input = SteadyServices(2);
  input.services[0].load.memory = MiB(300);
  const auto placement = Place(input);
  ASSERT_EQ(placement->groups.size(), 2u);
  EXPECT_THAT(placement->remarks,
              ElementsAre("service 's100' is by itself over grouping.worker_memory (256Mi) and "
                          "has group 'steady-2' alone"));
}

TEST(DerivedGroups, NamesAreNeverUsedAgain) {
  PlacementInput input = SteadyServices(1);
  const auto first = Place(input);
  EXPECT_EQ(first->groups[0].name, "steady-1");
  input.services.clear();
  const auto none = Place(After(input, *first));
  EXPECT_THAT(none->groups, IsEmpty());
  const auto again = Place(After(SteadyServices(1), *none));
  EXPECT_EQ(again->groups[0].name, "steady-2");
  EXPECT_THAT(again->moved, IsEmpty());
}

TEST(DerivedGroups, NamesOfDeclaredGroupsAreNotTaken) {
  PlacementInput input = SteadyServices(1);
  input.groups = {{"steady-1", {}}};
  EXPECT_EQ(GroupNameOf(*Place(input), "s100"), "steady-2");
}

TEST(DerivedGroups, SurviveARecordThatMakesNoSense) {
  PlacementInput input = SteadyServices(3);
  input.previous.services = {
      {"s100", {"", false}}, {"s101", {"steady-x", false}}, {"s102", {"steady-7", false}}};
  const auto placement = Place(input);
  ASSERT_TRUE(placement.ok());
  EXPECT_EQ(GroupNameOf(*placement, "s100"), "steady-7");
  EXPECT_EQ(placement->record.last_numbers.at("steady"), 7u);
}

TEST(DerivedGroups, WithoutPreviousServicesEverythingIsPlacedAnew) {
  PlacementInput input = SteadyServices(40);
  const auto first = Place(input);
  input.services.resize(10);
  PlacementInput kept = After(input, *first);
  EXPECT_GT(Place(kept)->groups.size(), 1u);
  kept.previous.services.clear();
  const auto anew = Place(kept);
  ASSERT_EQ(anew->groups.size(), 1u);
  EXPECT_EQ(anew->groups[0].name, "steady-4");
}

}  // namespace
}  // namespace cohost::supervisor
