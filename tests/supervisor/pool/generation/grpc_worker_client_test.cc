// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/grpc_worker_client.h"

#include <gmock/gmock.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/system/seqpacket.h"
#include "boost/asio/executor_work_guard.hpp"
#include "proto/worker.grpc.pb.h"

namespace cohost::supervisor {
namespace {

using worker::v1::WorkerControl;

// A worker's face on gRPC's own threads: service 1 is ready, 2 fails, every other is never
// answered.
class Face final : public WorkerControl::Service {
 public:
  grpc::Status Assign(grpc::ServerContext* context,
                      grpc::ServerReaderWriter<worker::v1::AssignResponse,
                                               worker::v1::AssignRequest>* stream) override {
    worker::v1::AssignRequest request;
    while (stream->Read(&request)) {
      if (request.service_id() > 2) return WaitUntilCancelled(context);
      worker::v1::AssignResponse response;
      response.set_service_id(request.service_id());
      response.set_revision(request.revision());
      response.set_state(request.service_id() == 1 ? v1::SERVICE_STATE_READY
                                                   : v1::SERVICE_STATE_FAILED);
      response.set_reason(request.service_id() == 1 ? "" : "no such table");
      response.set_row(4);
      stream->Write(response);
    }
    return grpc::Status::OK;
  }
  grpc::Status Remove(grpc::ServerContext*, const worker::v1::RemoveRequest* request,
                      worker::v1::RemoveResponse*) override {
    if (request->service_id() == 1) return grpc::Status::OK;
    return {grpc::StatusCode::NOT_FOUND, "not here"};
  }
  grpc::Status Probe(grpc::ServerContext*, const worker::v1::ProbeRequest*,
                     worker::v1::ProbeResponse* response) override {
    worker::v1::ServiceHealth& health = *response->add_services();
    health.set_service_id(1);
    health.set_reason("slow");
    return grpc::Status::OK;
  }
  grpc::Status Statistics(grpc::ServerContext* context, const worker::v1::StatisticsRequest*,
                          grpc::ServerWriter<worker::v1::StatisticsBatch>* writer) override {
    worker::v1::StatisticsBatch batch;
    batch.add_services()->set_service_id(1);
    writer->Write(batch);
    return WaitUntilCancelled(context);
  }

 private:
  // The synchronous API offers no event for it.
  grpc::Status WaitUntilCancelled(grpc::ServerContext* context) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!context->IsCancelled()) never_.wait_for(lock, std::chrono::milliseconds(5));
    return grpc::Status::CANCELLED;
  }

  std::mutex mutex_;
  std::condition_variable never_;
};

class GrpcWorkerClientTest : public ::testing::Test {
 protected:
  GrpcWorkerClientTest() : factory_(loop_) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&face_);
    server_ = builder.BuildAndStart();
    SocketPair pair = *MakeStreamPair();
    grpc::AddInsecureChannelFromFd(server_.get(), pair.second.Release());
    client_ = factory_.Connect(std::move(pair.first));
    service_.id = 1;
    service_.revision = 3;
  }
  ~GrpcWorkerClientTest() override {
    client_.reset();
    StopServer();
  }

  void StopServer() {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }

  // Runs the loop until `done` says so; a test that waits for ever fails instead.
  template <typename Condition>
  void RunUntil(Condition done) {
    // It stopped when the last guard went.
    loop_.restart();
    const auto guard = boost::asio::make_work_guard(loop_);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done()) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
      loop_.run_one_until(limit);
    }
  }

  absl::StatusOr<AssignOutcome> Assign(uint64_t id, absl::Duration deadline = absl::Seconds(20)) {
    service_.id = id;
    std::optional<absl::StatusOr<AssignOutcome>> outcome;
    client_->Assign(service_, absl::Seconds(20), deadline,
                    [&](absl::StatusOr<AssignOutcome> result) { outcome = std::move(result); });
    EXPECT_FALSE(outcome.has_value());
    RunUntil([&] { return outcome.has_value(); });
    return outcome.value_or(absl::DeadlineExceededError("the test's own limit"));
  }

  boost::asio::io_context loop_;
  GrpcWorkerClientFactory factory_;
  Face face_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<WorkerClient> client_;
  ServiceTarget service_;
};

TEST_F(GrpcWorkerClientTest, AssignsOneServiceAfterTheOther) {
  absl::StatusOr<AssignOutcome> outcome = Assign(1);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->ready);
  EXPECT_EQ(outcome->revision, 3u);
  EXPECT_EQ(outcome->row, 4u);
  outcome = Assign(2);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_FALSE(outcome->ready);
  EXPECT_EQ(outcome->reason, "no such table");
}

TEST_F(GrpcWorkerClientTest, ACallThatIsNotAnsweredEndsAtItsDeadline) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(Assign(3, absl::Milliseconds(50)).status()));
}

TEST_F(GrpcWorkerClientTest, AServiceWithoutListenerIsAnErrorLikeAnyOther) {
  service_.listeners.push_back({"http://127.0.0.1:1", -1});
  EXPECT_FALSE(Assign(1).ok());
}

TEST_F(GrpcWorkerClientTest, RemovesAndProbes) {
  std::optional<absl::Status> removed;
  client_->Remove(9, absl::Seconds(1), [&](const absl::Status& status) { removed = status; });
  RunUntil([&] { return removed.has_value(); });
  EXPECT_TRUE(absl::IsNotFound(*removed));
  std::optional<absl::StatusOr<std::vector<ProbeOutcome>>> probed;
  client_->Probe(absl::Seconds(5), [&](auto outcome) { probed = std::move(outcome); });
  RunUntil([&] { return probed.has_value(); });
  ASSERT_TRUE(probed->ok());
  ASSERT_EQ((*probed)->size(), 1u);
  EXPECT_FALSE((**probed)[0].healthy);
  EXPECT_EQ((**probed)[0].reason, "slow");
}

TEST_F(GrpcWorkerClientTest, StatisticsArriveUntilTheWorkerGoes) {
  int batches = 0;
  std::optional<absl::Status> ended;
  client_->WatchStatistics(
      absl::Seconds(1), [&](const WorkerGauges& gauges) { batches += gauges.services.size(); },
      [&](const absl::Status& status) { ended = status; });
  RunUntil([&] { return batches == 1; });
  StopServer();
  RunUntil([&] { return ended.has_value(); });
  EXPECT_FALSE(ended->ok());
}

TEST_F(GrpcWorkerClientTest, AWorkerThatIsGoneIsUnavailable) {
  ASSERT_TRUE(Assign(1).ok());
  StopServer();
  EXPECT_TRUE(absl::IsUnavailable(Assign(1).status()));
  EXPECT_TRUE(absl::IsUnavailable(Assign(2).status()));
}

TEST_F(GrpcWorkerClientTest, NothingIsHeardAfterItsEnd) {
  bool heard = false;
  service_.id = 3;
  client_->Assign(service_, absl::Seconds(20), absl::Seconds(20), [&](auto) { heard = true; });
  client_->Probe(absl::Seconds(5), [&](auto) { heard = true; });
  client_.reset();
  StopServer();
  loop_.poll();
  EXPECT_FALSE(heard);
}

}  // namespace
}  // namespace cohost::supervisor
