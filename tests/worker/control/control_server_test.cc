// SPDX-License-Identifier: Apache-2.0
#include "worker/control/control_server.h"

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/system/seqpacket.h"
#include "boost/asio/executor_work_guard.hpp"
#include "boost/asio/post.hpp"
#include "grpcpp/create_channel_posix.h"
#include "gtest/gtest.h"

namespace cohost::worker {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// Answers at once, on the loop.
class FakeControlHandler final : public ControlHandler {
 public:
  void Assign(const v1::AssignRequest& request,
              std::function<void(absl::StatusOr<v1::AssignResponse>)> done) override {
    if (request.service_id() == 0) return done(absl::InvalidArgumentError("service_id"));
    v1::AssignResponse response;
    response.set_service_id(request.service_id());
    response.set_row(++assigned);
    done(std::move(response));
  }
  void Remove(const v1::RemoveRequest&,
              std::function<void(absl::StatusOr<v1::RemoveResponse>)> done) override {
    done(absl::NotFoundError("no such service"));
  }
  void Probe(const v1::ProbeRequest& request,
             std::function<void(v1::ProbeResponse)> done) override {
    v1::ProbeResponse response;
    for (const uint64_t id : request.service_ids()) response.add_services()->set_service_id(id);
    done(std::move(response));
  }
  v1::StatisticsBatch Statistics() override {
    v1::StatisticsBatch batch;
    batch.set_pool_threads(++batches);
    return batch;
  }

  uint32_t assigned = 0;
  uint32_t batches = 0;
};

// The server on a loop of its own thread, and stubs over a socketpair. The server lives until the
// program ends, as in the worker.
class ControlServerTest : public ::testing::Test {
 protected:
  struct Parts {
    boost::asio::io_context io;
    FakeControlHandler handler;
    ControlServer server{io, handler};
  };

  ControlServerTest() : parts_(*new Parts), work_(boost::asio::make_work_guard(parts_.io)) {
    absl::StatusOr<SocketPair> pair = MakeStreamPair();
    EXPECT_TRUE(pair.ok());
    EXPECT_TRUE(parts_.server.AddChannel(std::move(pair->second)).ok());
    const auto channel = grpc::CreateInsecureChannelFromFd("server", pair->first.Release());
    control_ = v1::WorkerControl::NewStub(channel);
    health_ = Health::NewStub(channel);
    thread_ = std::thread([this] { parts_.io.run(); });
  }
  ~ControlServerTest() override {
    parts_.io.stop();
    thread_.join();
  }

  void OnLoop(std::function<void()> function) { boost::asio::post(parts_.io, std::move(function)); }
  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
  }

  Parts& parts_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<v1::WorkerControl::Stub> control_;
  std::unique_ptr<Health::Stub> health_;
  std::thread thread_;
};

TEST_F(ControlServerTest, AnswersTheAssignmentsOfAStreamInTurn) {
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = control_->Assign(&context);
  v1::AssignRequest request;
  v1::AssignResponse response;
  for (uint64_t id = 1; id <= 3; ++id) {
    request.set_service_id(id);
    ASSERT_TRUE(stream->Write(request));
  }
  for (uint64_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.service_id(), id);
    EXPECT_EQ(response.row(), id);
  }
  request.set_service_id(0);
  ASSERT_TRUE(stream->Write(request));
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ControlServerTest, CarriesAnswersAndErrorsOfSingleCalls) {
  grpc::ClientContext remove;
  SetDeadline(remove);
  v1::RemoveResponse removed;
  const grpc::Status status = control_->Remove(&remove, {}, &removed);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no such service");

  grpc::ClientContext probe;
  SetDeadline(probe);
  v1::ProbeRequest request;
  request.add_service_ids(8);
  v1::ProbeResponse health;
  ASSERT_TRUE(control_->Probe(&probe, request, &health).ok());
  ASSERT_EQ(health.services_size(), 1);
  EXPECT_EQ(health.services(0).service_id(), 8U);
}

TEST_F(ControlServerTest, StreamsStatisticsUntilItIsCancelled) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::StatisticsRequest request;
  request.mutable_interval()->set_nanos(1);  // Held to the least interval.
  const auto stream = control_->Statistics(&context, request);
  v1::StatisticsBatch batch;
  const absl::Time begin = absl::Now();
  for (uint32_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(stream->Read(&batch));
    EXPECT_EQ(batch.pool_threads(), i);
  }
  // An interval may end by a tenth early.
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(170));
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ControlServerTest, WatchTellsChangesOnly) {
  grpc::ClientContext context;
  SetDeadline(context);
  HealthCheckRequest request;
  request.set_service("catalog");
  const auto stream = health_->Watch(&context, request);
  HealthCheckResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  OnLoop([this] {
    parts_.server.health().Set("other", HealthCheckResponse::SERVING);
    parts_.server.health().Set("catalog", HealthCheckResponse::NOT_SERVING);
  });
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  OnLoop([this] {
    parts_.server.health().Set("catalog", HealthCheckResponse::NOT_SERVING);
    parts_.server.health().Set("catalog", HealthCheckResponse::SERVING);
  });
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  OnLoop([this] { parts_.server.health().Forget("catalog"); });
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ControlServerTest, CheckIsAnsweredByTheLoopAndNotBesideIt) {
  parts_.io.stop();
  thread_.join();
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Milliseconds(200)));
  HealthCheckResponse response;
  EXPECT_EQ(health_->Check(&context, {}, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  parts_.io.restart();
  thread_ = std::thread([this] { parts_.io.run(); });
  grpc::ClientContext again;
  SetDeadline(again);
  EXPECT_EQ(health_->Check(&again, {}, &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace cohost::worker
