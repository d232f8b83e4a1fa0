// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/worker_messages.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace cohost::supervisor {
namespace {

// A reason is one line for people; a worker must not fill the supervisor's memory with it.
constexpr size_t kMaxReason = 500;
constexpr size_t kMaxMetricName = 64;

absl::Duration From(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

v1::Runtime ToProto(Runtime runtime) {
  switch (runtime) {
    case Runtime::kNative:
      return v1::RUNTIME_NATIVE;
    case Runtime::kDotnet:
      return v1::RUNTIME_DOTNET;
  }
  return v1::RUNTIME_UNSPECIFIED;
}

v1::Isolation ToProto(Isolation isolation) {
  switch (isolation) {
    case Isolation::kShared:
      return v1::ISOLATION_SHARED;
    case Isolation::kSolo:
      return v1::ISOLATION_SOLO;
  }
  return v1::ISOLATION_UNSPECIFIED;
}

void SetPairs(const Settings& pairs, google::protobuf::RepeatedPtrField<v1::Setting>& target) {
  for (const auto& [key, value] : pairs) {
    v1::Setting& pair = *target.Add();
    pair.set_key(key);
    pair.set_value(value);
  }
}

void SetDotnet(const ServiceTarget& service, worker::v1::AssignRequest& request) {
  if (service.runtime != Runtime::kDotnet) return;
  SetPairs(service.environment, *request.mutable_environment());
  for (const std::string& argument : service.arguments) request.add_arguments(argument);
  request.set_data_protection_name(service.data_protection_name);
  request.set_isolation(ToProto(service.isolation));
  request.mutable_shared_libraries()->Assign(service.shared_libraries.begin(),
                                             service.shared_libraries.end());
}

void SetLimits(v1::ServiceLimits& target, const ServiceLimits& limits) {
  target.set_concurrency(limits.concurrency);
  target.set_queue(limits.queue);
  SetDuration(*target.mutable_request_timeout(), limits.request_timeout);
  target.set_header_bytes(static_cast<uint32_t>(limits.header_size.count));
  target.set_body_bytes(limits.body_size.count);
  SetDuration(*target.mutable_header_timeout(), limits.header_timeout);
  SetDuration(*target.mutable_io_timeout(), limits.io_timeout);
  SetDuration(*target.mutable_idle_timeout(), limits.idle_timeout);
  target.set_connections(limits.connections);
}

std::string Reason(const std::string& text) { return text.substr(0, kMaxReason); }

bool IsMetricName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxMetricName && !absl::ascii_isdigit(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
         });
}

}  // namespace

void SetDuration(google::protobuf::Duration& target, absl::Duration duration) {
  const int64_t nanoseconds = absl::ToInt64Nanoseconds(duration);
  target.set_seconds(nanoseconds / 1'000'000'000);
  target.set_nanos(static_cast<int32_t>(nanoseconds % 1'000'000'000));
}

absl::StatusOr<worker::v1::AssignRequest> ToAssignRequest(const ServiceTarget& service,
                                                          absl::Duration start_timeout) {
  worker::v1::AssignRequest request;
  request.set_request_id(absl::StrCat(service.id, "-", service.revision));
  request.set_service_id(service.id);
  request.set_revision(service.revision);
  request.set_name(service.name);
  request.set_runtime(ToProto(service.runtime));
  request.set_module_path(service.module_path);
  SetPairs(service.settings, *request.mutable_settings());
  SetLimits(*request.mutable_limits(), service.limits);
  for (const ListenerTarget& listener : service.listeners) {
    COHOST_ASSIGN_OR_RETURN(const uint64_t token, ListenerToken(listener.descriptor));
    worker::v1::Endpoint& endpoint = *request.add_endpoints();
    endpoint.set_listener_token(token);
    endpoint.set_address(listener.address);
    endpoint.set_endpoint(listener.endpoint);
  }
  for (const std::string& target : service.warmup) request.add_warmup(target);
  request.set_health_path(service.health.path);
  SetDuration(*request.mutable_start_timeout(), start_timeout);
  request.set_access_log(service.access_log);
  request.set_data_folder(service.data_folder);
  for (const auto& [name, path] : service.data_images)
    (*request.mutable_data_images())[name] = path;
  request.set_memory_bytes(service.limits.memory.count);
  SetDotnet(service, request);
  return request;
}

absl::StatusOr<AssignOutcome> FromAssignResponse(const worker::v1::AssignResponse& response) {
  AssignOutcome outcome;
  outcome.service_id = response.service_id();
  outcome.revision = response.revision();
  outcome.ready = response.state() == v1::SERVICE_STATE_READY;
  if (!outcome.ready && response.state() != v1::SERVICE_STATE_FAILED) {
    return absl::InvalidArgumentError("an answer to assign that is neither ready nor failed");
  }
  outcome.reason = Reason(response.reason());
  outcome.row = response.row();
  outcome.load_time = From(response.load_time());
  return outcome;
}

WorkerGauges FromStatistics(const worker::v1::StatisticsBatch& batch) {
  WorkerGauges gauges;
  gauges.pool_threads = batch.pool_threads();
  gauges.pool_busy = batch.pool_busy();
  if (batch.has_pool_queue_age()) gauges.pool_queue_age = From(batch.pool_queue_age());
  for (const worker::v1::ServiceStatistics& source : batch.services()) {
    ServiceGauges& service = gauges.services.emplace_back();
    service.service_id = source.service_id();
    service.connections = source.connections();
    service.timers = source.timers();
    service.metrics_dropped = source.metrics_dropped();
    for (const worker::v1::ModuleMetric& metric : source.metrics()) {
      if (service.metrics.size() == kMaxModuleMetrics || !IsMetricName(metric.name()) ||
          !std::isfinite(metric.value())) {
        ++service.metrics_dropped;
        continue;
      }
      service.metrics.push_back({metric.name(), metric.is_counter(), metric.value()});
    }
  }
  return gauges;
}

ProbeOutcome FromServiceHealth(const worker::v1::ServiceHealth& health) {
  return {health.service_id(), health.healthy(), Reason(health.reason())};
}

}  // namespace cohost::supervisor
