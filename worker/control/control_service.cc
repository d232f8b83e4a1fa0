// SPDX-License-Identifier: Apache-2.0
#include "worker/control/control_service.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "boost/asio/post.hpp"
#include "worker/control/proto_time.h"
#include "worker/loop/loop_timer.h"

namespace cohost::worker {
namespace {

constexpr absl::Duration kDefaultInterval = absl::Seconds(1);
constexpr absl::Duration kLeastInterval = absl::Milliseconds(100);

// The Assign stream: one request is read, carried out and answered before the next is read. Lives
// on the I/O loop: gRPC's reactions are posted there, and the last of them deletes it there, behind
// all others.
class AssignCall final : public grpc::ServerBidiReactor<v1::AssignRequest, v1::AssignResponse> {
 public:
  AssignCall(boost::asio::io_context& io, ControlHandler& handler) : io_(io), handler_(handler) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    boost::asio::post(io_, [this, ok] {
      if (!ok) return Finish(grpc::Status::OK);
      // A client that leaves meanwhile changes nothing: the load goes on, and whoever assigns the
      // same revision next gets its result.
      handler_.Assign(request_, [this](absl::StatusOr<v1::AssignResponse> answer) {
        if (!answer.ok()) return Finish(ToGrpc(answer.status()));
        response_ = *std::move(answer);
        StartWrite(&response_);
      });
    });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }

  void OnDone() override {
    boost::asio::post(io_, [this] { delete this; });
  }

 private:
  boost::asio::io_context& io_;
  ControlHandler& handler_;
  v1::AssignRequest request_;
  v1::AssignResponse response_;
};

// The Statistics stream; lives on the I/O loop as AssignCall does.
class StatisticsCall final : public grpc::ServerWriteReactor<v1::StatisticsBatch> {
 public:
  StatisticsCall(boost::asio::io_context& io, ControlHandler& handler, absl::Duration interval)
      : io_(io), handler_(handler), interval_(interval) {
    boost::asio::post(io_, [this] {
      timer_ = std::make_unique<LoopTimer>(io_);
      Next();
    });
  }

  void OnWriteDone(bool ok) override {
    boost::asio::post(io_, [this, ok] {
      writing_ = false;
      if (!ok || cancelled_) return End();
      // From the end of a write: a client that reads slowly gets fewer batches, not a queue of
      // them.
      timer_->Start(UntilNext(), [this] { Next(); });
    });
  }

  void OnCancel() override {
    boost::asio::post(io_, [this] {
      cancelled_ = true;
      if (!writing_) End();
    });
  }

  void OnDone() override {
    boost::asio::post(io_, [this] { delete this; });
  }

 private:
  void Next() {
    if (cancelled_) return;
    v1::StatisticsBatch batch = handler_.Statistics();
    if (!IsNews(batch)) return timer_->Start(UntilNext(), [this] { Next(); });
    batch_ = std::move(batch);
    writing_ = true;
    StartWrite(&batch_);
  }

  // Whether something else than the time has changed since the last batch.
  bool IsNews(v1::StatisticsBatch& batch) {
    const google::protobuf::Timestamp time = batch.time();
    batch.clear_time();
    std::string content = batch.SerializeAsString();
    *batch.mutable_time() = time;
    if (content == sent_content_) return false;
    sent_content_ = std::move(content);
    return true;
  }

  // The interval, ended at the beginning of a tenth of it, which all workers of the machine have in
  // common: the supervisor is woken once for the batches of many.
  absl::Duration UntilNext() const {
    const absl::Duration now = SystemClock().Steady() - SteadyTime{};
    return absl::Floor(now + interval_, interval_ / 10) - now;
  }

  void End() {
    if (std::exchange(finished_, true)) return;
    timer_->Cancel();
    Finish(grpc::Status::CANCELLED);
  }

  boost::asio::io_context& io_;
  ControlHandler& handler_;
  const absl::Duration interval_;
  // I/O thread only.
  std::unique_ptr<LoopTimer> timer_;
  v1::StatisticsBatch batch_;
  std::optional<std::string> sent_content_;  // of batch_, but for its time
  bool writing_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
};

}  // namespace

ControlService::ControlService(boost::asio::io_context& io, ControlHandler& handler)
    : io_(io), handler_(handler) {}

grpc::ServerBidiReactor<v1::AssignRequest, v1::AssignResponse>* ControlService::Assign(
    grpc::CallbackServerContext*) {
  return new AssignCall(io_, handler_);
}

grpc::ServerUnaryReactor* ControlService::Remove(grpc::CallbackServerContext* context,
                                                 const v1::RemoveRequest* request,
                                                 v1::RemoveResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  boost::asio::post(io_, [this, request, response, reactor] {
    handler_.Remove(*request, [response, reactor](absl::StatusOr<v1::RemoveResponse> answer) {
      if (answer.ok()) *response = *answer;
      reactor->Finish(ToGrpc(answer.status()));
    });
  });
  return reactor;
}

grpc::ServerUnaryReactor* ControlService::Probe(grpc::CallbackServerContext* context,
                                                const v1::ProbeRequest* request,
                                                v1::ProbeResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  boost::asio::post(io_, [this, request, response, reactor] {
    handler_.Probe(*request, [response, reactor](v1::ProbeResponse answer) {
      *response = std::move(answer);
      reactor->Finish(grpc::Status::OK);
    });
  });
  return reactor;
}

grpc::ServerWriteReactor<v1::StatisticsBatch>* ControlService::Statistics(
    grpc::CallbackServerContext*, const v1::StatisticsRequest* request) {
  const absl::Duration wanted =
      request->has_interval() ? FromProto(request->interval()) : kDefaultInterval;
  return new StatisticsCall(io_, handler_, std::max(wanted, kLeastInterval));
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

}  // namespace cohost::worker
