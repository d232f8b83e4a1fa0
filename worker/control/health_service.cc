// SPDX-License-Identifier: Apache-2.0
#include "worker/control/health_service.h"

#include <optional>
#include <utility>

#include "boost/asio/post.hpp"

namespace cohost::worker {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// One Watch stream. Lives on the I/O loop: gRPC's reactions are posted there, and the last of them
// deletes it there, behind all others. Sends the newest status only: what changed twice while a
// client did not read is told once.
class HealthService::WatchCall final : public grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  WatchCall(HealthService& health, std::string service)
      : health_(health), service_(std::move(service)) {
    boost::asio::post(health_.io_, [this] {
      health_.watchers_.insert(this);
      Update();
    });
  }

  const std::string& service() const { return service_; }

  void Update() {
    const Status status = health_.Find(service_);
    if (writing_ || cancelled_ || sent_ == status) return;
    sent_ = status;
    response_.set_status(status);
    writing_ = true;
    StartWrite(&response_);
  }

  void OnWriteDone(bool ok) override {
    boost::asio::post(health_.io_, [this, ok] {
      writing_ = false;
      if (!ok || cancelled_) return End();
      Update();
    });
  }

  void OnCancel() override {
    boost::asio::post(health_.io_, [this] {
      cancelled_ = true;
      if (!writing_) End();
    });
  }

  void OnDone() override {
    boost::asio::post(health_.io_, [this] { delete this; });
  }

 private:
  void End() {
    cancelled_ = true;
    health_.watchers_.erase(this);
    if (!std::exchange(finished_, true)) Finish(grpc::Status::CANCELLED);
  }

  HealthService& health_;
  const std::string service_;
  // I/O thread only.
  std::optional<Status> sent_;
  HealthCheckResponse response_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
};

HealthService::HealthService(boost::asio::io_context& io) : io_(io) {}

void HealthService::Set(const std::string& service, Status status) {
  statuses_[service] = status;
  Notify(service);
}

void HealthService::Forget(const std::string& service) {
  statuses_.erase(service);
  Notify(service);
}

HealthService::Status HealthService::Find(const std::string& service) const {
  const auto found = statuses_.find(service);
  return found == statuses_.end() ? HealthCheckResponse::SERVICE_UNKNOWN : found->second;
}

void HealthService::Notify(const std::string& service) {
  for (WatchCall* const watcher : watchers_) {
    if (watcher->service() == service) watcher->Update();
  }
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const HealthCheckRequest* request,
                                               HealthCheckResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  boost::asio::post(io_, [this, request, response, reactor] {
    const Status status = Find(request->service());
    if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
      return reactor->Finish({grpc::StatusCode::NOT_FOUND, "no such service in this worker"});
    }
    response->set_status(status);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(
    grpc::CallbackServerContext*, const HealthCheckRequest* request) {
  return new WatchCall(*this, request->service());
}

}  // namespace cohost::worker
