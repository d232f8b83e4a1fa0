// SPDX-License-Identifier: Apache-2.0
#include "supervisor/state/state.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/state/state_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::chrono::seconds kPatience(20);

// A callback and the wait for it.
template <typename Result>
class Answer {
 public:
  std::function<void(Result)> callback() {
    auto promise = std::make_shared<std::promise<Result>>();
    future_ = promise->get_future();
    return [promise](Result result) { promise->set_value(std::move(result)); };
  }
  Result Get() {
    if (future_.wait_for(kPatience) != std::future_status::ready) std::abort();
    return future_.get();
  }

 private:
  std::future<Result> future_;
};

State::Opened OpenAt(const std::string& path) {
  State::Options options;
  options.path = path;
  return State::Open(std::move(options));
}

HostEvent Event(std::string message) {
  HostEvent event;
  event.kind = "worker_state";
  event.time = absl::FromUnixSeconds(1);
  event.message = std::move(message);
  return event;
}

std::vector<HostEvent> Last(State& state, size_t count) {
  Answer<absl::StatusOr<std::vector<HostEvent>>> answer;
  state.ReadLastEvents(count, answer.callback());
  return *answer.Get();
}

// Keeps the state thread busy until it is released.
class Hold {
 public:
  explicit Hold(State& state) {
    auto begun = std::make_shared<std::promise<void>>();
    std::future<void> has_begun = begun->get_future();
    std::shared_future<void> released = release_.get_future().share();
    state.ReadLastEvents(0, [begun, released](const auto&) {
      begun->set_value();
      released.wait_for(kPatience);
    });
    has_begun.wait_for(kPatience);
  }
  void Release() { release_.set_value(); }

 private:
  std::promise<void> release_;
};

// All pages become noise, in file and log, as a failing disk would do it.
void DamageEverything(const StateFolder& folder) {
  for (const char* suffix : {"", "-wal"}) {
    const std::string noise(folder.Read(suffix).size(), 'x');
    const int fd = ::open((folder.path() + suffix).c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(::pwrite(fd, noise.data(), noise.size(), 0), static_cast<ssize_t>(noise.size()));
    ::close(fd);
  }
}

TEST(State, GivesEverythingBackAfterARestart) {
  const StateFolder folder;
  const StateRevision revision{3, "version: 1\n",        absl::FromUnixSeconds(5),
                               0, ChangeAction::kReload, "1 changed"};
  PlacementRecord placement;
  placement.services = {{"a", {"steady-1", false}}};
  placement.last_numbers = {{"steady", 1}};
  ServiceIds ids;
  EXPECT_EQ(ids.Assign("a"), 1u);
  EXPECT_EQ(ids.Assign("a"), 1u);
  const OperatorStop stop{absl::FromUnixSeconds(6), 1000};
  ServiceChange change;
  change.service = "a";
  change.revision = 3;
  change.files = {std::string(64, 'a'), {{"words", std::string(64, 'b')}}};
  ServiceChange gone = change;
  gone.service = "b";
  gone.files = {};
  {
    auto opened = OpenAt(folder.path());
    Answer<absl::Status> saved;
    opened.state->SaveDeployment({revision, placement, ids, {change, gone}, {{"a", {7, 3}}}, {}},
                                 saved.callback());
    EXPECT_TRUE(saved.Get().ok());
    Answer<absl::Status> stopped;
    opened.state->SaveOperatorStop("a", stop, stopped.callback());
    opened.state->SaveOperatorStop("b", stop, [](const absl::Status&) {});
    opened.state->ClearOperatorStop("b", [](const absl::Status&) {});
    EXPECT_TRUE(stopped.Get().ok());
    EXPECT_TRUE(opened.state->Close(absl::Seconds(20)).ok());
  }
  const auto opened = OpenAt(folder.path());
  EXPECT_THAT(opened.notices, IsEmpty());
  EXPECT_EQ(opened.snapshot.revision, revision);
  EXPECT_EQ(opened.snapshot.placement, placement);
  EXPECT_EQ(opened.snapshot.services, (std::map<std::string, ServiceChange>{{"a", change}}));
  EXPECT_EQ(opened.snapshot.pins, (std::map<std::string, ServicePin>{{"a", {7, 3}}}));
  EXPECT_EQ(opened.snapshot.service_ids, ids);
  EXPECT_EQ(opened.snapshot.operator_stops, (std::map<std::string, OperatorStop>{{"a", stop}}));
}

TEST(State, EventIdsRiseOverRestarts) {
  const StateFolder folder;
  uint64_t last = 0;
  for (int start = 0; start < 3; ++start) {
    auto opened = OpenAt(folder.path());
    const uint64_t id = opened.state->AppendEvent(Event("e"));
    EXPECT_EQ(id, last + 1);
    last = id;
  }
  auto opened = OpenAt(folder.path());
  EXPECT_THAT(Last(*opened.state, 10), SizeIs(3));
}

TEST(State, EventIdsRiseAfterAnEndWithoutClose) {
  const StateFolder folder;
  const StateFolder copy;
  auto opened = OpenAt(folder.path());
  const uint64_t id = opened.state->AppendEvent(Event("e"));
  ASSERT_THAT(Last(*opened.state, 1), SizeIs(1));
  // The files as a kill would leave them.
  copy.Write(folder.Read());
  copy.Write(folder.Read("-wal"), "-wal");
  EXPECT_GT(OpenAt(copy.path()).state->AppendEvent(Event("next")), id);
}

TEST(State, AnswersEventsThatWereAppendedBefore) {
  auto opened = OpenAt("");
  const uint64_t first = opened.state->AppendEvent(Event("one"));
  opened.state->AppendEvent(Event("two"));
  opened.state->AppendEvent(Event("three"));
  Answer<absl::StatusOr<std::vector<HostEvent>>> after;
  opened.state->ReadEventsAfter(first, 1, after.callback());
  const auto events = *after.Get();
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].message, "two");
  EXPECT_EQ(events[0].id, first + 1);
}

TEST(State, KeepsOnlySoManyEvents) {
  State::Options options;
  options.max_events = 10;
  auto opened = State::Open(std::move(options));
  for (int i = 0; i < 95; ++i) opened.state->AppendEvent(Event(std::to_string(i)));
  const auto events = Last(*opened.state, 1000);
  EXPECT_LT(events.size(), 21u);
  EXPECT_EQ(events.back().message, "94");
}

TEST(State, AFullQueueDropsAndCountsHistoryAndSaysSo) {
  State::Options options;
  options.max_queued_events = 5;
  auto opened = State::Open(std::move(options));
  Hold hold(*opened.state);
  uint64_t last = 0;
  for (int i = 0; i < 8; ++i) last = opened.state->AppendEvent(Event(std::to_string(i)));
  EXPECT_EQ(opened.state->dropped_events(), 3u);
  hold.Release();
  EXPECT_THAT(Last(*opened.state, 100), SizeIs(::testing::Ge(5u)));
  const auto events = Last(*opened.state, 1);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].kind, "history_dropped");
  EXPECT_GT(events[0].id, last);
  EXPECT_THAT(events[0].message, HasSubstr("3 events"));
}

TEST(State, TooManyDurableWritesAreRefusedAtOnce) {
  auto opened = OpenAt("");
  Hold hold(*opened.state);
  int refused = 0;
  std::mutex mutex;
  for (int i = 0; i < 300; ++i) {
    opened.state->SaveOperatorStop("s", {}, [&](const absl::Status& status) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (absl::IsResourceExhausted(status)) ++refused;
    });
  }
  {
    const std::lock_guard<std::mutex> lock(mutex);
    EXPECT_EQ(refused, 300 - 256);
  }
  hold.Release();
  EXPECT_TRUE(opened.state->Close(absl::Seconds(20)).ok());
}

TEST(State, CloseWritesWhatIsQueuedAndTakesNothingNew) {
  const StateFolder folder;
  {
    auto opened = OpenAt(folder.path());
    for (int i = 0; i < 1000; ++i) opened.state->AppendEvent(Event(std::to_string(i)));
    EXPECT_TRUE(opened.state->Close(absl::Seconds(20)).ok());
    EXPECT_TRUE(opened.state->Close(absl::Seconds(20)).ok());
    opened.state->AppendEvent(Event("late"));
    EXPECT_EQ(opened.state->dropped_events(), 1u);
    Answer<absl::Status> saved;
    opened.state->ClearOperatorStop("x", saved.callback());
    EXPECT_EQ(saved.Get().code(), absl::StatusCode::kCancelled);
  }
  auto opened = OpenAt(folder.path());
  EXPECT_THAT(Last(*opened.state, 5000), SizeIs(1000));
}

TEST(State, CloseDoesNotWaitForADiskThatHangs) {
  auto opened = OpenAt("");
  Hold hold(*opened.state);
  EXPECT_EQ(opened.state->Close(absl::Milliseconds(10)).code(),
            absl::StatusCode::kDeadlineExceeded);
  opened.state.reset();
  hold.Release();
}

TEST(State, Sta02KeepsWhatItKnowsWhenTheFileIsDamagedWhileRunning) {
  const StateFolder folder;
  {
    State::Options options;
    options.path = folder.path();
    std::promise<std::string> told;
    options.notice = [&](std::string notice) { told.set_value(std::move(notice)); };
    auto opened = State::Open(std::move(options));
    Answer<absl::Status> stopped;
    opened.state->SaveOperatorStop("before", {}, stopped.callback());
    ASSERT_TRUE(stopped.Get().ok());
    // More than SQLite's cache holds, so that it has to read the file again.
    for (int i = 0; i < 3000; ++i) opened.state->AppendEvent(Event(std::string(300, 'm')));
    ASSERT_THAT(Last(*opened.state, 1), SizeIs(1));
    DamageEverything(folder);
    Answer<absl::StatusOr<std::vector<HostEvent>>> events;
    opened.state->ReadEventsAfter(0, 5000, events.callback());
    EXPECT_TRUE(events.Get().ok());
    Answer<absl::Status> second;
    opened.state->SaveOperatorStop("after", {}, second.callback());
    EXPECT_TRUE(second.Get().ok());
    auto notice = told.get_future();
    ASSERT_EQ(notice.wait_for(kPatience), std::future_status::ready);
    EXPECT_THAT(notice.get(), HasSubstr("was set aside as"));
    EXPECT_THAT(folder.SetAside(), SizeIs(1));
  }
  const auto opened = OpenAt(folder.path());
  EXPECT_THAT(opened.notices, IsEmpty());
  EXPECT_EQ(opened.snapshot.operator_stops.size(), 2u);
}

}  // namespace
}  // namespace cohost::supervisor
