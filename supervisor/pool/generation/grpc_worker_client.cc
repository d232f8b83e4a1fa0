// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/grpc_worker_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <climits>
#include <utility>

#include "base/mutex.h"
#include "boost/asio/post.hpp"
#include "proto/worker.grpc.pb.h"
#include "supervisor/pool/generation/worker_messages.h"

namespace cohost::supervisor {
namespace {

using worker::v1::WorkerControl;

// A module's reasons and metrics are short; what is longer is refused.
constexpr int kMaxAnswer = 4 << 20;
// The stream is opened again after it; a call without any deadline could outlive everything.
constexpr absl::Duration kStatisticsDeadline = absl::Hours(24);

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

void SetDeadline(grpc::ClientContext& context, absl::Duration limit) {
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(limit));
}

// Both ends of a channel's settings in one place (the worker's are gRPC's defaults, which allow
// what is set here): no keepalive pings at all, since a socketpair cannot lose its peer unseen, and
// a server that counts pings would cut the channel for them (RPC-02). No retries and no service
// config: a channel made from a descriptor cannot reconnect.
grpc::ChannelArguments ChannelSettings() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswer);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // Each channel is its own pair of sockets: none may be shared from gRPC's global pool.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return arguments;
}

// What gRPC's threads may touch of a client: the way to the loop, as long as the client lives.
// Thread-safe.
class Courier : public std::enable_shared_from_this<Courier> {
 public:
  explicit Courier(boost::asio::io_context& loop) : loop_(loop) {}

  // Runs `work` on the loop unless the client has ended by then.
  template <typename Work>
  void Post(Work work) {
    MutexLock lock(mutex_);
    // The loop may be gone by now.
    if (!alive_) return;
    boost::asio::post(loop_, [self = shared_from_this(), work = std::move(work)]() mutable {
      if (self->alive()) work();
    });
  }
  void End() {
    MutexLock lock(mutex_);
    alive_ = false;
  }

 private:
  bool alive() {
    MutexLock lock(mutex_);
    return alive_;
  }

  boost::asio::io_context& loop_;
  Mutex mutex_;
  bool alive_ ABSL_GUARDED_BY(mutex_) = true;
};

// One unary call, kept by its own callback.
template <typename Request, typename Response>
struct UnaryCall {
  grpc::ClientContext context;
  Request request;
  Response response;
};

// One service over one Assign stream: write, read, done. A stream for each keeps the deadline of
// one service apart from the next one's. Ends itself in OnDone, on a gRPC thread.
class AssignCall final
    : public grpc::ClientBidiReactor<worker::v1::AssignRequest, worker::v1::AssignResponse> {
 public:
  using Done = std::function<void(absl::StatusOr<AssignOutcome>)>;

  AssignCall(std::shared_ptr<Courier> courier, std::shared_ptr<grpc::ClientContext> context,
             worker::v1::AssignRequest request, Done done)
      : courier_(std::move(courier)),
        context_(std::move(context)),
        request_(std::move(request)),
        done_(std::move(done)) {}

  void Begin(WorkerControl::Stub& stub) {
    stub.async()->Assign(context_.get(), this);
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&response_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok || answered_) return;
    answered_ = true;
    // The read that sees the end; a second answer would be one too many and is dropped.
    StartRead(&surplus_);
  }

  void OnDone(const grpc::Status& status) override {
    absl::StatusOr<AssignOutcome> outcome = absl::InternalError("no answer to assign");
    if (answered_) {
      outcome = FromAssignResponse(response_);
    } else if (!status.ok()) {
      outcome = FromGrpc(status);
    }
    courier_->Post([done = std::move(done_), outcome = std::move(outcome)]() mutable {
      done(std::move(outcome));
    });
    delete this;
  }

 private:
  const std::shared_ptr<Courier> courier_;
  const std::shared_ptr<grpc::ClientContext> context_;
  const worker::v1::AssignRequest request_;
  Done done_;
  // gRPC's callbacks of one call do not overlap.
  worker::v1::AssignResponse response_;
  worker::v1::AssignResponse surplus_;
  bool answered_ = false;
};

// The statistics stream. Ends itself in OnDone, on a gRPC thread.
class StatisticsCall final : public grpc::ClientReadReactor<worker::v1::StatisticsBatch> {
 public:
  StatisticsCall(std::shared_ptr<Courier> courier, std::shared_ptr<grpc::ClientContext> context,
                 std::function<void(const WorkerGauges&)> batch,
                 std::function<void(absl::Status)> ended)
      : courier_(std::move(courier)),
        context_(std::move(context)),
        batch_(std::make_shared<std::function<void(const WorkerGauges&)>>(std::move(batch))),
        ended_(std::move(ended)) {}

  void Begin(WorkerControl::Stub& stub, const worker::v1::StatisticsRequest& request) {
    stub.async()->Statistics(context_.get(), &request, this);
    StartRead(&message_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    courier_->Post([batch = batch_, gauges = FromStatistics(message_)] { (*batch)(gauges); });
    StartRead(&message_);
  }

  void OnDone(const grpc::Status& status) override {
    courier_->Post([ended = std::move(ended_), end = FromGrpc(status)] { ended(end); });
    delete this;
  }

 private:
  const std::shared_ptr<Courier> courier_;
  const std::shared_ptr<grpc::ClientContext> context_;
  const std::shared_ptr<std::function<void(const WorkerGauges&)>> batch_;
  std::function<void(absl::Status)> ended_;
  worker::v1::StatisticsBatch message_;
};

class GrpcWorkerClient final : public WorkerClient {
 public:
  GrpcWorkerClient(boost::asio::io_context& loop, UniqueFd socket)
      : courier_(std::make_shared<Courier>(loop)),
        stub_(WorkerControl::NewStub(grpc::CreateCustomInsecureChannelFromFd(
            "worker", socket.Release(), ChannelSettings()))) {}

  // Open calls are cancelled and end by themselves; nobody hears of them any more.
  ~GrpcWorkerClient() override {
    courier_->End();
    for (const std::weak_ptr<grpc::ClientContext>& open : open_) {
      if (const auto context = open.lock()) context->TryCancel();
    }
  }

  void Assign(const ServiceTarget& service, absl::Duration start_timeout, absl::Duration deadline,
              std::function<void(absl::StatusOr<AssignOutcome>)> done) override {
    absl::StatusOr<worker::v1::AssignRequest> request = ToAssignRequest(service, start_timeout);
    if (!request.ok()) {
      return courier_->Post([done = std::move(done), status = request.status()] { done(status); });
    }
    auto* call =
        new AssignCall(courier_, NewContext(deadline), *std::move(request), std::move(done));
    call->Begin(*stub_);
  }

  void Remove(uint64_t service_id, absl::Duration drain_timeout,
              std::function<void(absl::Status)> done) override {
    auto call =
        std::make_shared<UnaryCall<worker::v1::RemoveRequest, worker::v1::RemoveResponse>>();
    SetDeadline(call->context, drain_timeout + kAnswerMargin);
    Remember({call, &call->context});
    call->request.set_service_id(service_id);
    SetDuration(*call->request.mutable_drain_timeout(), drain_timeout);
    stub_->async()->Remove(
        &call->context, &call->request, &call->response,
        [courier = courier_, call, done = std::move(done)](const grpc::Status& status) {
          courier->Post([done, result = FromGrpc(status)] { done(result); });
        });
  }

  void Probe(absl::Duration timeout,
             std::function<void(absl::StatusOr<std::vector<ProbeOutcome>>)> done) override {
    auto call = std::make_shared<UnaryCall<worker::v1::ProbeRequest, worker::v1::ProbeResponse>>();
    SetDeadline(call->context, timeout + kAnswerMargin);
    Remember({call, &call->context});
    SetDuration(*call->request.mutable_timeout(), timeout);
    stub_->async()->Probe(
        &call->context, &call->request, &call->response,
        [courier = courier_, call, done = std::move(done)](const grpc::Status& status) {
          std::vector<ProbeOutcome> outcomes;
          for (const worker::v1::ServiceHealth& health : call->response.services()) {
            outcomes.push_back(FromServiceHealth(health));
          }
          absl::StatusOr<std::vector<ProbeOutcome>> result = std::move(outcomes);
          if (!status.ok()) result = FromGrpc(status);
          courier->Post([done, result = std::move(result)]() mutable { done(std::move(result)); });
        });
  }

  void WatchStatistics(absl::Duration interval, std::function<void(const WorkerGauges&)> batch,
                       std::function<void(absl::Status)> ended) override {
    worker::v1::StatisticsRequest request;
    SetDuration(*request.mutable_interval(), interval);
    auto* call = new StatisticsCall(courier_, NewContext(kStatisticsDeadline), std::move(batch),
                                    std::move(ended));
    call->Begin(*stub_, request);
  }

 private:
  // How much longer than the worker's own limit a call may take.
  static constexpr absl::Duration kAnswerMargin = absl::Seconds(2);

  std::shared_ptr<grpc::ClientContext> NewContext(absl::Duration deadline) {
    auto context = std::make_shared<grpc::ClientContext>();
    SetDeadline(*context, deadline);
    Remember(context);
    return context;
  }
  void Remember(const std::shared_ptr<grpc::ClientContext>& context) {
    std::erase_if(open_, [](const auto& open) { return open.expired(); });
    open_.push_back(context);
  }

  // Set in the constructor, never changed.
  const std::shared_ptr<Courier> courier_;
  const std::unique_ptr<WorkerControl::Stub> stub_;
  // Loop thread only.
  std::vector<std::weak_ptr<grpc::ClientContext>> open_;
};

// gRPC 1.51 ends its callback threads with the last channel that uses them, and one of them may
// then touch their queue after its end (seen: an abort in cq_next). A channel that lives as long as
// the process, and has made a call once, keeps them; it never connects to anything.
void KeepCallbackThreads() {
  static const WorkerControl::Stub* const stub = [] {
    WorkerControl::Stub* kept =
        WorkerControl::NewStub(
            grpc::CreateChannel("unix:/dev/null", grpc::InsecureChannelCredentials()))
            .release();
    auto call = std::make_shared<UnaryCall<worker::v1::ProbeRequest, worker::v1::ProbeResponse>>();
    SetDeadline(call->context, absl::ZeroDuration());
    kept->async()->Probe(&call->context, &call->request, &call->response,
                         [call](const grpc::Status&) {});
    return kept;
  }();
  (void)stub;
}

}  // namespace

std::unique_ptr<WorkerClient> GrpcWorkerClientFactory::Connect(UniqueFd socket) {
  KeepCallbackThreads();
  return std::make_unique<GrpcWorkerClient>(loop_, std::move(socket));
}

}  // namespace cohost::supervisor
