// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/health_service.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "supervisor/admin/messages.h"
#include "supervisor/admin/stream/message_stream.h"

namespace cohost::supervisor {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using ServingStatus = HealthCheckResponse::ServingStatus;

// Unset for a name that is not known.
std::optional<ServingStatus> StatusOf(const HostSnapshot& snapshot, const std::string& name) {
  const auto serving = [](bool healthy) {
    return healthy ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
  };
  if (name.empty()) return serving(IsHealthy(snapshot));
  const auto it = std::find_if(snapshot.services.begin(), snapshot.services.end(),
                               [&](const ServiceView& service) { return service.name == name; });
  if (it == snapshot.services.end()) return std::nullopt;
  return serving(it->status == ServiceStatus::kReady);
}

// One Watch call. Polling, since a snapshot has no subscription; between two polls a change and its
// reverse are one state.
class Watcher final : public Polled {
 public:
  Watcher(HostControl& host, std::string name)
      : host_(host),
        name_(std::move(name)),
        stream_(std::make_shared<MessageStream<HealthCheckResponse>>(1)) {}

  void Poll() override {
    const ServingStatus status =
        StatusOf(*host_.snapshot(), name_).value_or(HealthCheckResponse::SERVICE_UNKNOWN);
    if (status == sent_) return;
    HealthCheckResponse response;
    response.set_status(status);
    // A client that has not read the last one gets the newest when it has.
    if (stream_->Push(response) == MessageStream<HealthCheckResponse>::Pushed::kTaken) {
      sent_ = status;
    }
  }

  const std::shared_ptr<MessageStream<HealthCheckResponse>>& stream() const { return stream_; }

 private:
  HostControl& host_;
  const std::string name_;
  const std::shared_ptr<MessageStream<HealthCheckResponse>> stream_;
  // The poller's thread only.
  std::optional<ServingStatus> sent_;
};

}  // namespace

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const HealthCheckRequest* request,
                                               HealthCheckResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto status = StatusOf(*host_.snapshot(), request->service());
  if (!status) {
    reactor->Finish(grpc::Status(grpc::StatusCode::NOT_FOUND,
                                 absl::StrCat("no service '", request->service(), "'")));
    return reactor;
  }
  response->set_status(*status);
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(
    grpc::CallbackServerContext*, const HealthCheckRequest* request) {
  auto watcher = std::make_shared<Watcher>(host_, request->service());
  watcher->stream()->OnClosed([watcher] {});
  auto* call = watcher->stream()->Open();
  poller_.Add(watcher);
  return call;
}

}  // namespace cohost::supervisor
