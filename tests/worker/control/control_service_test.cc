// SPDX-License-Identifier: Apache-2.0
#include "worker/control/control_service.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/control/control_harness.h"

namespace cohost::worker {
namespace {

using std::chrono::steady_clock;
using Stub = v1::WorkerControl::Stub;

class ControlServiceTest : public ControlHarness {
 protected:
  // Whether the service answers on a channel of its own, and so its loop.
  [[nodiscard]] bool IsAlive() {
    const auto stub = v1::WorkerControl::NewStub(Connect());
    const auto context = Context();
    const auto stream = stub->Statistics(context.get(), {});
    v1::StatisticsBatch batch;
    const bool alive = stream->Read(&batch);
    context->TryCancel();
    return stream->Finish().error_code() == grpc::StatusCode::CANCELLED && alive;
  }
  void AnswerAssign(size_t number) {
    OnLoop([&] {
      v1::AssignResponse response;
      response.set_service_id(parts_.handler.assigns.at(number).request.service_id());
      parts_.handler.assigns.at(number).done(std::move(response));
    });
  }

  std::shared_ptr<grpc::Channel> channel_ = Connect();
  std::unique_ptr<Stub> stub_ = v1::WorkerControl::NewStub(channel_);
};

TEST_F(ControlServiceTest, TheNextAssignmentIsReadWhenTheOneBeforeIsAnswered) {
  const auto context = Context();
  const auto stream = stub_->Assign(context.get());
  v1::AssignRequest request;
  for (uint64_t id = 1; id <= 2; ++id) {
    request.set_service_id(id);
    ASSERT_TRUE(stream->Write(request));
  }
  ASSERT_TRUE(Eventually([this] { return parts_.handler.assign_count == 1; }));
  ASSERT_TRUE(IsAlive());
  EXPECT_EQ(parts_.handler.assign_count, 1U);
  AnswerAssign(0);
  v1::AssignResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.service_id(), 1U);
  ASSERT_TRUE(Eventually([this] { return parts_.handler.assign_count == 2; }));
  AnswerAssign(1);
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.service_id(), 2U);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ControlServiceTest, ALoadGoesOnWhenItsCallerLeavesAndItsEndHarmsNobody) {
  {
    const auto context = Context();
    const auto stream = stub_->Assign(context.get());
    v1::AssignRequest request;
    request.set_service_id(1);
    ASSERT_TRUE(stream->Write(request));
    ASSERT_TRUE(Eventually([this] { return parts_.handler.assign_count == 1; }));
    context->TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  AnswerAssign(0);
  EXPECT_TRUE(IsAlive());
}

TEST_F(ControlServiceTest, AVanishedSupervisorsOpenCallsEndWithoutHarm) {
  const auto assign_context = Context();
  const auto assign = stub_->Assign(assign_context.get());
  v1::AssignRequest request;
  request.set_service_id(1);
  ASSERT_TRUE(assign->Write(request));
  const auto watch_context = Context();
  const auto statistics = stub_->Statistics(watch_context.get(), {});
  ASSERT_TRUE(Eventually([this] { return parts_.handler.assign_count == 1; }));
  assign_context->TryCancel();
  watch_context->TryCancel();
  (void)assign->Finish();
  (void)statistics->Finish();
  stub_.reset();
  channel_.reset();
  // The next supervisor has a channel of its own, and what was asked for goes on.
  ASSERT_TRUE(IsAlive());
  AnswerAssign(0);
  EXPECT_TRUE(IsAlive());
}

TEST_F(ControlServiceTest, CallsThatAreGivenUpAreAnsweredIntoTheVoid) {
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext remove;
    remove.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
    v1::RemoveResponse removed;
    EXPECT_EQ(stub_->Remove(&remove, {}, &removed).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
    grpc::ClientContext probe;
    probe.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
    v1::ProbeResponse health;
    EXPECT_EQ(stub_->Probe(&probe, {}, &health).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  OnLoop([this] {
    for (const auto& done : parts_.handler.removes) done(v1::RemoveResponse());
    for (const auto& done : parts_.handler.probes) done(v1::ProbeResponse());
  });
  EXPECT_TRUE(IsAlive());
}

TEST_F(ControlServiceTest, ASlowReaderOfStatisticsGetsFewerBatchesAndNoQueue) {
  OnLoop([this] { parts_.handler.batch_bytes = size_t{1} << 20; });
  const auto context = Context();
  v1::StatisticsRequest request;
  request.mutable_interval()->set_nanos(100'000'000);
  const auto stream = stub_->Statistics(context.get(), request);
  // Unread, the windows of gRPC are full after a few of 1 MiB.
  const auto begin = steady_clock::now();
  ASSERT_TRUE(Eventually([&] { return steady_clock::now() - begin > std::chrono::seconds(2); }));
  EXPECT_GE(parts_.handler.batches, 1U);
  EXPECT_LE(parts_.handler.batches, 10U) << "made for nobody";
  context->TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  OnLoop([this] { parts_.handler.batch_bytes = 0; });
  EXPECT_TRUE(IsAlive());
}

TEST_F(ControlServiceTest, ABatchInWhichOnlyTheTimeIsNewIsNotSent) {
  parts_.handler.calm = true;
  const auto context = Context();
  v1::StatisticsRequest request;
  request.mutable_interval()->set_nanos(100'000'000);
  const auto stream = stub_->Statistics(context.get(), request);
  v1::StatisticsBatch batch;
  ASSERT_TRUE(stream->Read(&batch));
  EXPECT_EQ(batch.time().seconds(), 1);
  ASSERT_TRUE(Eventually([this] { return parts_.handler.batches >= 3; }));
  parts_.handler.calm = false;
  ASSERT_TRUE(stream->Read(&batch));
  EXPECT_GE(batch.time().seconds(), 3);
  EXPECT_EQ(batch.pool_threads(), batch.time().seconds());
  context->TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ControlServiceTest, StatisticsEndWithTheirReader) {
  v1::StatisticsRequest request;
  request.mutable_interval()->set_nanos(100'000'000);
  {
    const auto context = Context();
    const auto stream = stub_->Statistics(context.get(), request);
    v1::StatisticsBatch batch;
    ASSERT_TRUE(stream->Read(&batch));
    context->TryCancel();
    (void)stream->Finish();
  }
  // The cancellation travels; then no more are made.
  uint32_t last = 0;
  auto since = steady_clock::now();
  EXPECT_TRUE(Eventually([&] {
    const uint32_t now = parts_.handler.batches;
    if (now != last) since = steady_clock::now();
    last = now;
    return steady_clock::now() - since > std::chrono::milliseconds(500);
  }));
}

TEST_F(ControlServiceTest, AnIntervalThatIsNegativeOrHugeIsTaken) {
  for (const int64_t seconds : {int64_t{-5}, int64_t{315'576'000'000}}) {
    const auto context = Context();
    v1::StatisticsRequest request;
    request.mutable_interval()->set_seconds(seconds);
    const auto stream = stub_->Statistics(context.get(), request);
    v1::StatisticsBatch batch;
    ASSERT_TRUE(stream->Read(&batch)) << seconds;
    if (seconds < 0) {
      EXPECT_TRUE(stream->Read(&batch));
    }
    context->TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(IsAlive());
}

TEST_F(ControlServiceTest, TwoCallersAreServedSideBySide) {
  const auto other = v1::WorkerControl::NewStub(Connect());
  const auto held_context = Context();
  const auto held = stub_->Assign(held_context.get());
  v1::AssignRequest request;
  request.set_service_id(1);
  ASSERT_TRUE(held->Write(request));
  ASSERT_TRUE(Eventually([this] { return parts_.handler.assign_count == 1; }));
  const auto context = Context();
  const auto stream = other->Assign(context.get());
  request.set_service_id(2);
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(Eventually([this] { return parts_.handler.assign_count == 2; }));
  AnswerAssign(1);
  v1::AssignResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.service_id(), 2U);
  AnswerAssign(0);
  ASSERT_TRUE(held->Read(&response));
  EXPECT_EQ(response.service_id(), 1U);
  for (const auto& each : {held.get(), stream.get()}) {
    each->WritesDone();
    EXPECT_TRUE(each->Finish().ok());
  }
}

TEST(ToGrpc, CodesAreTheSameNumbersAndTextsGoAlong) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "text");
    EXPECT_EQ(static_cast<int>(ToGrpc(status).error_code()), code);
    EXPECT_EQ(ToGrpc(status).error_message(), "text");
  }
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace cohost::worker
