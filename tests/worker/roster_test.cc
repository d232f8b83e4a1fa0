// SPDX-License-Identifier: Apache-2.0
#include "worker/roster.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/fakes/segment_memory.h"
#include "tests/support/loop.h"
#include "worker/loop/deadline_queue.h"

namespace cohost::worker {
namespace {

// A service whose start, drain and stop end when the test says so; it answers every request 200.
class SlowHosted final : public HostedService {
 public:
  void Start(std::function<void(absl::Status)> done) override { start = std::move(done); }
  SteadyTime last_progress() const override { return {progress.load()}; }
  Dispatch dispatch() const override { return Dispatch::kInline; }
  void Handle(std::shared_ptr<Exchange> exchange) override {
    (void)exchange->Respond(status, {}, "");
  }
  void Ended(Exchange&, const CancelReason*) override {}
  void Drain(std::function<void()> done) override {
    ++drains;
    done();
  }
  void Stop(std::function<void()> done) override {
    ++stops;
    done();
  }
  HealthAnswer Health() override { return health; }
  std::vector<ModuleMetricValue> Metrics() override { return {{"cars", true, 4}}; }
  uint64_t metrics_dropped() const override { return 0; }
  uint64_t allocated_bytes() const override { return 77; }
  uint32_t timers() const override { return 0; }

  std::function<void(absl::Status)> start;
  std::atomic<int64_t> progress{0};
  uint32_t status = 200;
  HealthAnswer health;
  int drains = 0;
  int stops = 0;
};

// Everything that a roster works with, on the test's own loop.
class RosterTest : public ::testing::Test {
 protected:
  RosterTest()
      : null_(::open("/dev/null", O_WRONLY | O_CLOEXEC)),
        log_(null_.get(), "test"),
        slots_(memory_.segment()),
        pool_(slots_, SystemClock(), HandlerPool::Options()),
        inbox_(io_),
        deadlines_(io_, SystemClock()),
        table_(memory_.segment(), pool_, inbox_, SystemClock()),
        http_(io_, table_, deadlines_, inbox_, HttpServer::Options()),
        acceptor_([](std::vector<AcceptedConnection>) {}, memory_.segment().header, slots_,
                  SystemClock(), log_, Acceptor::Options()),
        calls_(io_, table_, SystemClock()),
        parts_{io_, table_, http_, acceptor_, calls_, pool_, SystemClock(), log_},
        roster_(parts_, listeners_, [this](const v1::AssignRequest& request, ServiceEntry& entry) {
          return Make(request, entry);
        }) {
    EXPECT_TRUE(acceptor_.Start().ok());
  }

  absl::StatusOr<std::unique_ptr<HostedService>> Make(const v1::AssignRequest& request,
                                                      ServiceEntry&) {
    if (request.module_path() == "/absent.so") return absl::NotFoundError("no such module");
    auto hosted = std::make_unique<SlowHosted>();
    hosted_[request.service_id()] = hosted.get();
    return hosted;
  }
  static v1::AssignRequest Request(uint64_t id, uint64_t revision = 1) {
    v1::AssignRequest request;
    request.set_service_id(id);
    request.set_revision(revision);
    request.set_name("service-" + std::to_string(id));
    return request;
  }

  using Answer = std::optional<absl::StatusOr<v1::AssignResponse>>;
  std::shared_ptr<Answer> Assign(const v1::AssignRequest& request) {
    auto answer = std::make_shared<Answer>();
    roster_.Assign(request,
                   [answer](absl::StatusOr<v1::AssignResponse> got) { *answer = std::move(got); });
    return answer;
  }
  void RunUntil(const std::function<bool()>& condition) {
    ASSERT_TRUE(testing::RunUntil(io_, condition));
  }
  void RunUntil(const std::shared_ptr<Answer>& answer) {
    RunUntil([&answer] { return answer->has_value(); });
  }
  void Poll() {
    io_.restart();
    io_.poll();
  }
  bool IsLoading(uint64_t id) const { return hosted_.contains(id); }

  UniqueFd null_;
  Log log_;
  SegmentMemory memory_;
  boost::asio::io_context io_;
  ThreadSlots slots_;
  HandlerPool pool_;
  LoopInbox inbox_;
  DeadlineQueue deadlines_;
  ServiceTable table_;
  HttpServer http_;
  Acceptor acceptor_;
  InternalCalls calls_;
  WorkerParts parts_;
  ListenerBook listeners_;
  std::map<uint64_t, SlowHosted*> hosted_;
  Roster roster_;
};

TEST_F(RosterTest, LoadsOneServiceAtATimeInTheOrderOfTheCalls) {
  const auto first = Assign(Request(1));
  const auto second = Assign(Request(2));
  Poll();
  EXPECT_TRUE(IsLoading(1));
  EXPECT_FALSE(IsLoading(2));
  hosted_[1]->start(absl::OkStatus());
  RunUntil(first);
  EXPECT_EQ((*first)->value().state(), cohost::v1::SERVICE_STATE_READY);
  EXPECT_TRUE(IsLoading(2));
  hosted_[2]->start(absl::InvalidArgumentError("bad setting"));
  RunUntil(second);
  EXPECT_EQ((*second)->value().state(), cohost::v1::SERVICE_STATE_FAILED);
  EXPECT_EQ((*second)->value().reason(), "bad setting");
  EXPECT_EQ(hosted_[2]->stops, 0) << "what never started is not stopped";
  ASSERT_EQ(roster_.ready().size(), 1U);
  EXPECT_EQ(roster_.ready()[0]->id(), 1U);
}

TEST_F(RosterTest, WhoAsksWhileItLoadsGetsTheSameAnswer) {
  const auto first = Assign(Request(1));
  const auto again = Assign(Request(1));
  const auto other = Assign(Request(1, /*revision=*/2));
  ASSERT_TRUE(other->has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition((*other)->status()));
  hosted_[1]->start(absl::OkStatus());
  RunUntil(again);
  EXPECT_EQ((*first)->value().row(), (*again)->value().row());
  EXPECT_EQ((*again)->value().state(), cohost::v1::SERVICE_STATE_READY);
}

TEST_F(RosterTest, StopsAServiceThatStartedButDoesNotAnswer) {
  v1::AssignRequest request = Request(1);
  request.add_warmup("/");
  const auto answer = Assign(request);
  hosted_[1]->status = 500;
  hosted_[1]->start(absl::OkStatus());
  RunUntil(answer);
  EXPECT_EQ((*answer)->value().state(), cohost::v1::SERVICE_STATE_FAILED);
  EXPECT_EQ((*answer)->value().warmup_requests(), 1U);
  EXPECT_EQ(hosted_[1]->stops, 1);
  EXPECT_EQ(table_.Find(1)->state(), RowState::kFailed);
}

TEST_F(RosterTest, FailsAStartWithoutProgressAndIgnoresItsLateEnd) {
  v1::AssignRequest request = Request(1);
  request.mutable_start_timeout()->set_nanos(20000000);
  const auto answer = Assign(request);
  RunUntil(answer);
  EXPECT_EQ((*answer)->value().state(), cohost::v1::SERVICE_STATE_FAILED);
  hosted_[1]->start(absl::OkStatus());
  Poll();
  EXPECT_EQ(table_.Find(1)->state(), RowState::kFailed);
  EXPECT_TRUE(roster_.ready().empty());
}

TEST_F(RosterTest, AModuleThatIsNotThereIsFailedAndCanBeTriedAgainAfterItsRemoval) {
  v1::AssignRequest request = Request(1);
  request.set_module_path("/absent.so");
  const auto answer = Assign(request);
  RunUntil(answer);
  EXPECT_EQ((*answer)->value().reason(), "no such module");
  v1::RemoveRequest remove;
  remove.set_service_id(1);
  std::optional<absl::Status> removed;
  roster_.Remove(remove,
                 [&removed](absl::StatusOr<v1::RemoveResponse> got) { removed = got.status(); });
  RunUntil([&removed] { return removed.has_value(); });
  EXPECT_EQ(removed, absl::OkStatus());
  EXPECT_EQ(table_.Find(1), nullptr);
  const auto again = Assign(Request(1, /*revision=*/2));
  hosted_[1]->start(absl::OkStatus());
  RunUntil(again);
  EXPECT_EQ((*again)->value().state(), cohost::v1::SERVICE_STATE_READY);
}

TEST_F(RosterTest, RemovalWhileLoadingFailsTheLoadAndKeepsWhatStillRuns) {
  const auto answer = Assign(Request(1));
  const auto next = Assign(Request(2));
  v1::RemoveRequest remove;
  remove.set_service_id(1);
  int removed = 0;
  for (int i = 0; i < 2; ++i) {
    roster_.Remove(remove, [&removed](const absl::StatusOr<v1::RemoveResponse>& got) {
      removed += got.ok() ? 1 : 0;
    });
  }
  RunUntil([&removed] { return removed == 2; });
  EXPECT_EQ((*answer)->value().state(), cohost::v1::SERVICE_STATE_FAILED);
  // Its start has not returned: the object must stay, and so does its place.
  EXPECT_NE(table_.Find(1), nullptr);
  EXPECT_TRUE(IsLoading(2)) << "its neighbours go on";
  hosted_[2]->start(absl::OkStatus());
  RunUntil(next);
  EXPECT_EQ((*next)->value().state(), cohost::v1::SERVICE_STATE_READY);
}

TEST_F(RosterTest, AClosedRosterFailsWhatLoadsAndRefusesTheRest) {
  const auto loading = Assign(Request(1));
  const auto waiting = Assign(Request(2));
  roster_.Close();
  const auto late = Assign(Request(3));
  bool quiet = false;
  roster_.WhenQuiet([&quiet] { quiet = true; });
  EXPECT_FALSE(quiet);
  RunUntil([&quiet] { return quiet; });
  EXPECT_EQ((*loading)->value().state(), cohost::v1::SERVICE_STATE_FAILED);
  EXPECT_TRUE(absl::IsFailedPrecondition((*waiting)->status()));
  EXPECT_TRUE(absl::IsFailedPrecondition((*late)->status()));
  EXPECT_FALSE(IsLoading(2));
}

TEST_F(RosterTest, StatisticsNameEveryService) {
  const auto answer = Assign(Request(1));
  hosted_[1]->start(absl::OkStatus());
  RunUntil(answer);
  const v1::StatisticsBatch batch = roster_.Statistics();
  ASSERT_EQ(batch.services_size(), 1);
  EXPECT_EQ(batch.services(0).service_id(), 1U);
  EXPECT_EQ(batch.services(0).allocated_bytes(), 77U);
  EXPECT_FALSE(batch.services(0).has_oldest_request_age());
  ASSERT_EQ(batch.services(0).metrics_size(), 1);
  EXPECT_EQ(batch.services(0).metrics(0).name(), "cars");
  EXPECT_TRUE(batch.services(0).metrics(0).is_counter());
}

TEST_F(RosterTest, WhateverAModuleSaysTheAnswerCanBeRead) {
  const auto answer = Assign(Request(1));
  hosted_[1]->start(absl::InternalError("no \xff\xc3 table"));
  RunUntil(answer);
  v1::AssignResponse read;
  ASSERT_TRUE(read.ParseFromString((*answer)->value().SerializeAsString()));
  EXPECT_EQ(read.reason(), "no \xef\xbf\xbd\xef\xbf\xbd table");

  const auto other = Assign(Request(2));
  hosted_[2]->health = {false, "\xc3"};
  hosted_[2]->start(absl::OkStatus());
  RunUntil(other);
  EXPECT_TRUE(read.ParseFromString((*other)->value().SerializeAsString()));
  const auto third = Assign(Request(3));
  hosted_[3]->start(absl::OkStatus());
  RunUntil(third);
  hosted_[3]->health = {false, "\xc3"};
  v1::ProbeRequest request;
  request.add_service_ids(3);
  std::optional<v1::ProbeResponse> response;
  roster_.Probe(request, [&response](v1::ProbeResponse got) { response = std::move(got); });
  RunUntil([&response] { return response.has_value(); });
  v1::ProbeResponse probed;
  ASSERT_TRUE(probed.ParseFromString(response->SerializeAsString()));
  EXPECT_EQ(probed.services(0).reason(), "\xef\xbf\xbd");
}

TEST_F(RosterTest, AProbeTellsOfServicesThatAreNotReadyOrNotHere) {
  const auto answer = Assign(Request(1));
  v1::ProbeRequest request;
  request.add_service_ids(1);
  request.add_service_ids(99);
  std::optional<v1::ProbeResponse> response;
  roster_.Probe(request, [&response](v1::ProbeResponse got) { response = std::move(got); });
  RunUntil([&response] { return response.has_value(); });
  ASSERT_EQ(response->services_size(), 2);
  EXPECT_FALSE(response->services(0).healthy());
  EXPECT_EQ(response->services(0).reason(), "not ready");
  EXPECT_EQ(response->services(1).reason(), "not in this worker");
}

}  // namespace
}  // namespace cohost::worker
