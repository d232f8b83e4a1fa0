// SPDX-License-Identifier: Apache-2.0
#include "worker/service_load.h"

#include <fcntl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/worker/worker_harness.h"
#include "worker/control/assign_request.h"
#include "worker/service_removal.h"

namespace cohost::worker {
namespace {

constexpr uint64_t kToken = 77;

class ServiceLoadTest : public ::testing::Test {
 protected:
  static v1::AssignRequest Request() {
    v1::AssignRequest request;
    request.set_service_id(1);
    request.set_name("service-1");
    return request;
  }
  void SetTimeout(absl::Duration timeout) {
    request_.mutable_start_timeout()->set_nanos(
        static_cast<int32_t>(absl::ToInt64Nanoseconds(timeout)));
  }
  // The service; orders to it come before Begin.
  ScriptedService& Add(std::vector<ServiceEndpoint> endpoints = {}) {
    entry_ = &harness_.AddService(1, std::move(endpoints));
    return WorkerHarness::Scripted(*entry_);
  }
  void Begin() {
    load_ = std::make_unique<ServiceLoad>(harness_.parts, prober_, harness_.listeners, *entry_,
                                          request_, [this](const absl::Status& status) {
                                            EXPECT_FALSE(ended_.has_value()) << "told twice";
                                            ended_ = status;
                                          });
    load_->Begin();
  }
  // What the load ended with.
  absl::Status End() {
    EXPECT_TRUE(harness_.RunUntil([this] { return ended_.has_value(); }));
    return ended_.value_or(absl::UnknownError("never told"));
  }

  WorkerHarness harness_;
  Prober prober_{harness_.parts};
  v1::AssignRequest request_ = Request();
  ServiceEntry* entry_ = nullptr;
  std::optional<absl::Status> ended_;
  std::unique_ptr<ServiceLoad> load_;
};

TEST_F(ServiceLoadTest, StartsWarmsUpProbesAndOnlyThenAccepts) {
  const UniqueFd listener = MakeListener();
  harness_.listeners.Add(kToken, UniqueFd(::fcntl(listener.get(), F_DUPFD_CLOEXEC, 0)));
  const UniqueFd early = ConnectTo(listener);
  request_.add_warmup("/");
  request_.add_warmup("/items/1");
  request_.set_health_path("/healthz");
  const ScriptedService& service = Add({{kToken, "http://127.0.0.1:1"}});
  Begin();
  EXPECT_TRUE(End().ok());
  EXPECT_EQ(service.calls,
            (std::vector<std::string>{"start", "GET /", "GET /items/1", "GET /healthz"}));
  EXPECT_EQ(load_->start(), StartOutcome::kSucceeded);
  EXPECT_EQ(load_->warmup_requests(), 2U);
  EXPECT_EQ(entry_->state(), RowState::kReady);
  // Who connected before is served now.
  EXPECT_TRUE(harness_.RunUntil([this] { return !harness_.accepted.empty(); }));
}

TEST_F(ServiceLoadTest, WithoutItsListenerItIsNotEvenStarted) {
  const ScriptedService& service = Add({{kToken, "http://127.0.0.1:1"}});
  Begin();
  EXPECT_FALSE(ended_.has_value()) << "not inside the call";
  EXPECT_EQ(End().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(service.calls.empty());
  EXPECT_EQ(load_->start(), StartOutcome::kNone);
}

TEST_F(ServiceLoadTest, AListenerThatIsTakenBackMeanwhileLeavesNothingAccepting) {
  const UniqueFd first = MakeListener();
  harness_.listeners.Add(1, UniqueFd(::fcntl(first.get(), F_DUPFD_CLOEXEC, 0)));
  harness_.listeners.Add(2, MakeListener());
  ScriptedService& service = Add({{1, "http://127.0.0.1:1"}, {2, "http://127.0.0.1:2"}});
  service.hold_start = true;
  Begin();
  harness_.listeners.Release(2);
  service.start_done(absl::OkStatus());
  EXPECT_EQ(End().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(entry_->state(), RowState::kLoading);
  EXPECT_EQ(load_->start(), StartOutcome::kSucceeded) << "it wants a stop";
  // The accept thread does what it was told in turn: it was told nothing of the first listener.
  const UniqueFd client = ConnectTo(first);
  bool done = false;
  harness_.acceptor.Rearm();
  StopAccepting(harness_.parts, *entry_, [&done] { done = true; });
  ASSERT_TRUE(harness_.RunUntil([&done] { return done; }));
  EXPECT_TRUE(harness_.accepted.empty());
}

TEST_F(ServiceLoadTest, AStartThatFailsIsToldAsItIs) {
  request_.add_warmup("/");
  ScriptedService& service = Add();
  service.hold_start = true;
  Begin();
  service.start_done(absl::InvalidArgumentError("setting 'currency' is missing"));
  EXPECT_EQ(End(), absl::InvalidArgumentError("setting 'currency' is missing"));
  EXPECT_EQ(load_->start(), StartOutcome::kFailed);
  EXPECT_EQ(service.calls, std::vector<std::string>{"start"});
  EXPECT_EQ(entry_->state(), RowState::kLoading);
}

TEST_F(ServiceLoadTest, WithoutProgressItFailsAndTheLateEndChangesNothing) {
  SetTimeout(absl::Milliseconds(20));
  ScriptedService& service = Add();
  service.hold_start = true;
  Begin();
  EXPECT_EQ(End().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(load_->start(), StartOutcome::kRunning) << "it may not be destroyed";
  service.start_done(absl::OkStatus());
  harness_.Poll();
  EXPECT_EQ(entry_->state(), RowState::kLoading);
  // Nor when the load has gone.
  load_.reset();
  service.start_done(absl::OkStatus());
  harness_.Poll();
}

TEST_F(ServiceLoadTest, WhoReportsProgressMayTakeLongerThanTheTimeout) {
  const absl::Duration timeout = absl::Milliseconds(500);
  SetTimeout(timeout);
  ScriptedService& service = Add();
  service.hold_start = true;
  Begin();
  const SteadyTime begin = harness_.clock.Steady();
  ASSERT_TRUE(harness_.RunUntil([&] {
    service.progress = harness_.clock.Steady().nanoseconds;
    return harness_.clock.Steady() - begin > timeout * 2.2;
  }));
  EXPECT_FALSE(ended_.has_value());
  service.start_done(absl::OkStatus());
  EXPECT_TRUE(End().ok());
}

TEST_F(ServiceLoadTest, ProgressDoesNotHelpBeyondTheLongestStart) {
  SetTimeout(absl::Milliseconds(20));
  ScriptedService& service = Add();
  service.hold_start = true;
  Begin();
  harness_.clock.Shift(kLongestStart);
  service.progress = harness_.clock.Steady().nanoseconds;
  EXPECT_EQ(End().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ServiceLoadTest, WarmUpTakesAnyAnswerBelow500) {
  uint32_t code = 404;
  request_.add_warmup("/a");
  request_.add_warmup("/b");
  ScriptedService& service = Add();
  service.handle = [&code](const auto& exchange) {
    (void)exchange->Respond(std::exchange(code, 500), {}, "");
  };
  Begin();
  EXPECT_EQ(End().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(load_->warmup_requests(), 2U);
  EXPECT_EQ(load_->start(), StartOutcome::kSucceeded);
  EXPECT_EQ(entry_->state(), RowState::kLoading);
}

TEST_F(ServiceLoadTest, AWarmUpThatIsNeverAnsweredEndsAtTheTimeoutAndFreesItsPlace) {
  SetTimeout(absl::Milliseconds(30));
  request_.add_warmup("/");
  std::shared_ptr<Exchange> held;
  ScriptedService& service = Add();
  service.handle = [&held](auto exchange) { held = std::move(exchange); };
  Begin();
  EXPECT_EQ(End().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(harness_.RunUntil([this] { return entry_->admission().empty(); }));
}

TEST_F(ServiceLoadTest, AFirstProbeThatFailsFailsTheLoad) {
  ScriptedService& service = Add();
  service.health = [] { return HealthAnswer{false, "no database"}; };
  Begin();
  const absl::Status status = End();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(entry_->state(), RowState::kLoading);
}

TEST_F(ServiceLoadTest, AnAbortEndsItAtOnceAndOnlyOnce) {
  request_.add_warmup("/");
  std::shared_ptr<Exchange> held;
  ScriptedService& service = Add();
  service.handle = [&held](auto exchange) { held = std::move(exchange); };
  Begin();
  ASSERT_TRUE(harness_.RunUntil([&held] { return held != nullptr; }));
  load_->Abort(absl::CancelledError("removed while loading"));
  load_->Abort(absl::InternalError("a second time"));
  EXPECT_EQ(End(), absl::CancelledError("removed while loading"));
  // The answer comes when nobody waits for it any more.
  (void)held->Respond(200, {}, "");
  harness_.Poll();
  EXPECT_EQ(entry_->state(), RowState::kLoading);
  EXPECT_EQ(service.calls.size(), 2U) << "no probe after it";
}

TEST_F(ServiceLoadTest, WhoIsToldMayDestroyIt) {
  Add();
  std::unique_ptr<ServiceLoad> load;
  bool told = false;
  load = std::make_unique<ServiceLoad>(harness_.parts, prober_, harness_.listeners, *entry_,
                                       request_, [&](const absl::Status& status) {
                                         EXPECT_TRUE(status.ok());
                                         told = true;
                                         load.reset();
                                       });
  load->Begin();
  EXPECT_TRUE(harness_.RunUntil([&told] { return told; }));
  EXPECT_EQ(load, nullptr);
}

TEST_F(ServiceLoadTest, OneThatGoesEarlyIsNotTouchedByItsService) {
  ScriptedService& service = Add();
  service.hold_start = true;
  Begin();
  load_.reset();
  service.start_done(absl::OkStatus());
  harness_.Poll();
  EXPECT_FALSE(ended_.has_value());
  EXPECT_EQ(entry_->state(), RowState::kLoading);
}

}  // namespace
}  // namespace cohost::worker
