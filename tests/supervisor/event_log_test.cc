// SPDX-License-Identifier: Apache-2.0
#include "supervisor/event_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/system/unique_fd.h"
#include "tests/fakes/clock.h"
#include "tests/support/wait.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

HostEvent Event(const std::string& kind) {
  HostEvent event;
  event.kind = kind;
  return event;
}

class EventLogTest : public ::testing::Test {
 protected:
  // What the state has of it, in order.
  std::vector<HostEvent> Kept() {
    std::promise<absl::StatusOr<std::vector<HostEvent>>> read;
    state_->ReadEventsAfter(0, 100, [&read](auto events) { read.set_value(std::move(events)); });
    auto events = read.get_future();
    const auto patience = absl::ToChronoMilliseconds(cohost::testing::kPatience);
    if (events.wait_for(patience) != std::future_status::ready) std::abort();
    return events.get().value();
  }

  FakeClock clock_;
  std::unique_ptr<State> state_ = State::Open({}).state;
  const UniqueFd nowhere_{open("/dev/null", O_WRONLY | O_CLOEXEC)};
  Log log_{nowhere_.get(), "supervisor"};
  EventLog events_{*state_, log_, clock_};
};

TEST_F(EventLogTest, AnEventGetsItsIdAndTimeOnceForEverybody) {
  std::vector<HostEvent> told;
  events_.Subscribe([&](const HostEvent& event) { told.push_back(event); });
  HostEvent event = Event("operator_stop");
  event.id = 77;  // not the caller's to choose
  event.service = "catalog";
  event.uid = 0;
  const uint64_t first = events_.Record(event);
  clock_.Advance(absl::Seconds(5));
  const uint64_t second = events_.Record(event);
  EXPECT_GT(second, first);
  ASSERT_EQ(told.size(), 2);
  EXPECT_EQ(told[0].id, first);
  EXPECT_EQ(told[1].id, second);
  EXPECT_EQ(told[1].time - told[0].time, absl::Seconds(5));
  EXPECT_EQ(told[1].time, clock_.Wall());
  EXPECT_EQ(told[0].uid, 0u);
  EXPECT_EQ(Kept(), told);
}

TEST_F(EventLogTest, AnEventOfThePoolKeepsEveryField) {
  PoolEvent event;
  event.kind = "service_state";
  event.group = "steady";
  event.slot = 0;
  event.generation = 7;
  event.service = "catalog";
  event.from = "loading";
  event.to = "failed";
  event.message = "no such table";
  events_.Record(event);
  event.slot.reset();
  events_.Record(event);
  const std::vector<HostEvent> kept = Kept();
  ASSERT_EQ(kept.size(), 2);
  EXPECT_EQ(kept[0].kind, "service_state");
  EXPECT_EQ(kept[0].group, "steady");
  EXPECT_EQ(kept[0].slot, 0u);
  EXPECT_EQ(kept[0].generation, 7);
  EXPECT_EQ(kept[0].service, "catalog");
  EXPECT_EQ(kept[0].from, "loading");
  EXPECT_EQ(kept[0].to, "failed");
  EXPECT_EQ(kept[0].message, "no such table");
  EXPECT_EQ(kept[0].uid, std::nullopt);
  EXPECT_EQ(kept[1].slot, std::nullopt);
}

TEST_F(EventLogTest, ASubscriberThatEndsItselfInsideTheCallHearsNoMore) {
  std::vector<std::string> heard;
  uint64_t first = 0;
  first = events_.Subscribe([&](const HostEvent& event) {
    // Long enough that nothing of it fits into the function object itself.
    heard.push_back("first " + event.kind);
    events_.Unsubscribe(first);
    heard.push_back("first goes on after " + event.kind);
  });
  events_.Subscribe([&](const HostEvent& event) { heard.push_back("second " + event.kind); });
  events_.Record(Event("a"));
  events_.Record(Event("b"));
  EXPECT_THAT(heard, ElementsAre("first a", "first goes on after a", "second a", "second b"));
}

TEST_F(EventLogTest, ASubscriberThatAnotherOneEndsIsNotCalledAnyMore) {
  auto second_lives = std::make_unique<bool>(true);
  uint64_t second = 0;
  events_.Subscribe([&](const HostEvent&) {
    events_.Unsubscribe(second);
    second_lives.reset();
  });
  bool called_after_its_end = false;
  second =
      events_.Subscribe([&](const HostEvent&) { called_after_its_end |= second_lives == nullptr; });
  events_.Record(Event("a"));
  EXPECT_FALSE(called_after_its_end);
}

TEST_F(EventLogTest, OneThatSubscribesInsideTheCallHearsLaterEventsOnly) {
  std::vector<std::string> heard;
  uint64_t outer = 0;
  outer = events_.Subscribe([&](const HostEvent&) {
    events_.Unsubscribe(outer);
    events_.Subscribe([&](const HostEvent& event) { heard.push_back(event.kind); });
  });
  events_.Record(Event("a"));
  EXPECT_THAT(heard, IsEmpty());
  events_.Record(Event("b"));
  EXPECT_THAT(heard, ElementsAre("b"));
}

TEST_F(EventLogTest, AnEventRecordedInsideTheCallIsALaterOne) {
  std::vector<uint64_t> ids;
  events_.Subscribe([&](const HostEvent& event) {
    ids.push_back(event.id);
    if (event.kind == "cause") events_.Record(Event("effect"));
  });
  const uint64_t cause = events_.Record(Event("cause"));
  ASSERT_EQ(ids.size(), 2);
  EXPECT_EQ(ids[0], cause);
  EXPECT_GT(ids[1], cause);
  EXPECT_EQ(Kept().size(), 2);
}

TEST_F(EventLogTest, NumbersOfSubscriptionsAreNotUsedAgain) {
  const uint64_t first = events_.Subscribe([](const HostEvent&) {});
  events_.Unsubscribe(first);
  bool told = false;
  EXPECT_NE(events_.Subscribe([&](const HostEvent&) { told = true; }), first);
  // Twice, as a stream does that is cancelled while it ends.
  events_.Unsubscribe(first);
  events_.Record(Event("a"));
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace cohost::supervisor
