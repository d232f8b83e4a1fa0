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

TEST(DeclaredGroups, HoldTheServicesThatNameThem) {
  PlacementInput input;
  input.groups = {{"shop", {}}, {"spare", {}}};
  input.services = {MakePinned("cart", LoadClass::kSteady, "shop"),
                    MakePinned("search", LoadClass::kBursty, "shop"),
                    MakeService("other", LoadClass::kSteady)};
  const auto placement = Place(input);
  ASSERT_TRUE(placement.ok()) << placement.status();
  ASSERT_EQ(placement->groups.size(), 3u);
  const PlacedGroup& shop = *GroupOf(*placement, "cart");
  EXPECT_EQ(shop.name, "shop");
  EXPECT_TRUE(shop.declared);
  EXPECT_EQ(shop.services.size(), 2u);
  EXPECT_EQ(shop.memory, MiB(8));
  EXPECT_EQ(shop.services[0].reason, "names this group");
  EXPECT_THAT(placement->groups[1].services, IsEmpty());
  EXPECT_EQ(GroupNameOf(*placement, "other"), "steady-1");
  EXPECT_FALSE(GroupOf(*placement, "other")->declared);
}

TEST(DeclaredGroups, TakeTheClassesTheyMatch) {
  PlacementInput input;
  input.groups = {{"busy", {LoadClass::kSteady, LoadClass::kLatency}}};
  input.services = {MakeService("a", LoadClass::kSteady), MakeService("b", LoadClass::kLatency),
                    MakeService("c", LoadClass::kIdle)};
  const auto placement = Place(input);
  ASSERT_TRUE(placement.ok()) << placement.status();
  EXPECT_EQ(GroupNameOf(*placement, "a"), "busy");
  EXPECT_EQ(GroupNameOf(*placement, "b"), "busy");
  EXPECT_EQ(GroupNameOf(*placement, "c"), "idle-1");
}

TEST(DeclaredGroups, ShareAClassThatSeveralMatchAndKeepWhoWasThere) {
  PlacementInput input;
  input.groups = {{"one", {LoadClass::kSteady}}, {"two", {LoadClass::kSteady}}};
  input.grouping.max_services_per_worker = 2;
  for (const char* name : {"a", "b", "c"}) {
    input.services.push_back(MakeService(name, LoadClass::kSteady));
  }
  input.previous.services = {{"a", {"two", true}}, {"c", {"two", true}}};
  const auto placement = Place(input);
  ASSERT_TRUE(placement.ok()) << placement.status();
  EXPECT_EQ(GroupNameOf(*placement, "a"), "two");
  EXPECT_EQ(GroupNameOf(*placement, "b"), "one");
  EXPECT_EQ(GroupNameOf(*placement, "c"), "two");
  EXPECT_THAT(placement->moved, IsEmpty());
}

TEST(DeclaredGroups, AFullGroupIsAnErrorThatNamesServiceAndLimit) {
  PlacementInput input;
  input.groups = {{"one", {LoadClass::kSteady}}};
  input.grouping.max_services_per_worker = 1;
  input.services = {MakeService("a", LoadClass::kSteady), MakeService("b", LoadClass::kSteady)};
  const auto placement = Place(input);
  EXPECT_EQ(placement.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(placement.status().message());
  EXPECT_THAT(message, HasSubstr("'b'"));
  EXPECT_THAT(message, HasSubstr("'one'"));
  EXPECT_THAT(message, HasSubstr("grouping.max_services_per_worker (1)"));
}

TEST(DeclaredGroups, NamingAGroupOverItsLimitIsARemark) {
  PlacementInput input;
  input.groups = {{"one", {}}};
  input.grouping.max_services_per_worker = 1;
  input.services = {MakePinned("a", LoadClass::kSteady, "one"),
                    MakePinned("b", LoadClass::kSteady, "one")};
  const auto placement = Place(input);
  ASSERT_TRUE(placement.ok()) << placement.status();
  ASSERT_EQ(placement->remarks.size(), 1u);
  EXPECT_THAT(placement->remarks[0], HasSubstr("grouping.max_services_per_worker (1)"));
}

TEST(DeclaredGroups, NothingExceedsTheRowsOfASegment) {
  PlacementInput input;
  input.groups = {{"one", {}}};
  for (uint32_t i = 0; i <= kMaxServicesPerWorker; ++i) {
    input.services.push_back(MakePinned("s" + std::to_string(i), LoadClass::kIdle, "one"));
  }
  EXPECT_EQ(Place(input).status().code(), absl::StatusCode::kInvalidArgument);
  input.services.pop_back();
  EXPECT_TRUE(Place(input).ok());
}

TEST(DeclaredGroups, RefuseServicesThatCannotShareAWorker) {
  const PlacementService first = MakePinned("a", LoadClass::kLatency, "g");
  PlacementService batch = MakePinned("b", LoadClass::kBatch, "g");
  PlacementService dotnet = MakePinned("b", LoadClass::kLatency, "g");
  dotnet.runtime = Runtime::kDotnet;
  PlacementService no_overlap = MakePinned("b", LoadClass::kLatency, "g");
  no_overlap.overlap = false;
  PlacementService alone = MakePinned("b", LoadClass::kLatency, "g");
  alone.alone = true;
  PlacementService framework = MakePinned("b", LoadClass::kLatency, "g");
  framework.framework = "10.0.12";
  for (const PlacementService& second : {batch, dotnet, no_overlap, alone, framework}) {
    PlacementInput input;
    input.groups = {{"g", {}}};
    input.services = {first, second};
    const auto placement = Place(input);
    EXPECT_EQ(placement.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(placement.status().message()),
                HasSubstr("service 'b' cannot be in group 'g': with service 'a' it "));
  }
}

TEST(DeclaredGroups, WhoMustBeAloneKeepsNobodyElseOut) {
  for (const bool named : {true, false}) {
    PlacementInput input;
    input.groups = {{"g", {LoadClass::kSteady}}};
    for (const char* name : {"a", "b", "c"}) {
      input.services.push_back(MakeService(name, LoadClass::kSteady));
      if (named) input.services.back().group = "g";
    }
    input.services[0].alone = true;
    input.services[0].alone_because = "it says so";
    input.services[0].load.memory = MiB(100);
    const auto placement = Place(input);
    EXPECT_EQ(placement.status().code(), absl::StatusCode::kInvalidArgument);
    const std::string message(placement.status().message());
    EXPECT_THAT(message, HasSubstr("service 'a'"));
    EXPECT_THAT(message, HasSubstr("it needs a worker of its own: it says so; name a group"));
    EXPECT_THAT(message, Not(HasSubstr("service 'c'")));
  }
}

TEST(DeclaredGroups, StrategyDeclaredWantsAGroupForEachAndTellsAllThatLackOne) {
  PlacementInput input;
  input.grouping.strategy = Strategy::kDeclared;
  input.groups = {{"g", {LoadClass::kSteady}}};
  input.services = {MakePinned("a", LoadClass::kSteady, "g"), MakeService("b", LoadClass::kSteady),
                    MakePinned("c", LoadClass::kSteady, "missing")};
  const auto placement = Place(input);
  const std::string message(placement.status().message());
  EXPECT_THAT(message, HasSubstr("service 'b' names no group"));
  EXPECT_THAT(message, HasSubstr("service 'c' cannot be in group 'missing'"));
}

TEST(DeclaredGroups, TwoServicesOfOneNameAreAnError) {
  PlacementInput input;
  input.services = {MakeService("a", LoadClass::kSteady), MakeService("a", LoadClass::kIdle)};
  EXPECT_EQ(Place(input).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(DeclaredGroups, MovingInAndOutIsTold) {
  PlacementInput input;
  input.services = {MakeService("a", LoadClass::kSteady), MakeService("b", LoadClass::kSteady)};
  const auto before = Place(input);
  input.groups = {{"g", {}}};
  input.services[0].group = "g";
  input.previous = before->record;
  const auto inside = Place(input);
  EXPECT_THAT(inside->moved, ElementsAre("a"));
  input.services[0].group.reset();
  input.previous = inside->record;
  const auto outside = Place(input);
  EXPECT_THAT(outside->moved, ElementsAre("a"));
  EXPECT_EQ(GroupNameOf(*outside, "a"), "steady-1");
}

}  // namespace
}  // namespace cohost::supervisor
