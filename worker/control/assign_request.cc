// SPDX-License-Identifier: Apache-2.0
#include "worker/control/assign_request.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "worker/control/proto_time.h"
#include "worker/services/local_request.h"

namespace cohost::worker {
namespace {

constexpr absl::Duration kDefaultStartTimeout = absl::Seconds(60);
constexpr absl::Duration kLongestLimit = absl::Hours(24);
constexpr Bytes kMostHeaderBytes = MiB(1);

absl::Status Invalid(std::string_view field, std::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat(AsAbsl(field), " ", AsAbsl(rule)));
}

// Leaves `value` at its default where the field is not set.
absl::Status ReadDuration(bool is_set, const google::protobuf::Duration& field,
                          std::string_view name, absl::Duration& value) {
  if (!is_set) return absl::OkStatus();
  const absl::Duration given = FromProto(field);
  if (given < absl::Milliseconds(1) || given > kLongestLimit) {
    return Invalid(name, "must be between 1 ms and 24 h");
  }
  value = given;
  return absl::OkStatus();
}

// Unmodified applications have long polls.
ServiceLimits DefaultLimits(cohost::v1::Runtime runtime) {
  ServiceLimits limits;
  if (runtime == cohost::v1::RUNTIME_DOTNET) limits.request_timeout = absl::ZeroDuration();
  return limits;
}

// The numbers of limits have no "not set": a message that is there has them all.
absl::StatusOr<ServiceLimits> ReadLimits(const cohost::v1::ServiceLimits& limits,
                                         cohost::v1::Runtime runtime) {
  ServiceLimits result = DefaultLimits(runtime);
  if (limits.concurrency() < 1) return Invalid("limits.concurrency", "must be at least 1");
  result.concurrency = limits.concurrency();
  result.queue = limits.queue();
  const bool is_none = runtime == cohost::v1::RUNTIME_DOTNET &&
                       FromProto(limits.request_timeout()) == absl::ZeroDuration();
  COHOST_RETURN_IF_ERROR(ReadDuration(limits.has_request_timeout() && !is_none,
                                      limits.request_timeout(), "limits.request_timeout",
                                      result.request_timeout));
  result.header_bytes = Bytes{limits.header_bytes()};
  if (result.header_bytes < Bytes{256} || result.header_bytes > kMostHeaderBytes) {
    return Invalid("limits.header_bytes", "must be between 256 and 1048576");
  }
  result.body_bytes = Bytes{limits.body_bytes()};
  COHOST_RETURN_IF_ERROR(ReadDuration(limits.has_header_timeout(), limits.header_timeout(),
                                      "limits.header_timeout", result.header_timeout));
  COHOST_RETURN_IF_ERROR(ReadDuration(limits.has_io_timeout(), limits.io_timeout(),
                                      "limits.io_timeout", result.io_timeout));
  COHOST_RETURN_IF_ERROR(ReadDuration(limits.has_idle_timeout(), limits.idle_timeout(),
                                      "limits.idle_timeout", result.idle_timeout));
  if (limits.connections() < 1) return Invalid("limits.connections", "must be at least 1");
  result.connections = limits.connections();
  return result;
}

}  // namespace

absl::StatusOr<ServiceDescription> DescribeService(const v1::AssignRequest& request) {
  if (request.service_id() == 0) return Invalid("service_id", "must not be 0");
  if (request.name().empty()) return Invalid("name", "must not be empty");
  ServiceDescription description;
  description.id = request.service_id();
  description.revision = request.revision();
  description.name = request.name();
  description.access_log = request.access_log();
  if (request.has_limits()) {
    COHOST_ASSIGN_OR_RETURN(description.limits, ReadLimits(request.limits(), request.runtime()));
  } else {
    description.limits = DefaultLimits(request.runtime());
  }
  for (const v1::Endpoint& endpoint : request.endpoints()) {
    description.endpoints.push_back({endpoint.listener_token(), endpoint.address()});
  }
  for (const std::string& target : request.warmup()) {
    if (!IsLocalTarget(target)) return Invalid("warmup", "must be paths that begin with \"/\"");
  }
  if (!request.health_path().empty() && !IsLocalTarget(request.health_path())) {
    return Invalid("health_path", "must be a path that begins with \"/\"");
  }
  return description;
}

absl::Duration StartTimeout(const v1::AssignRequest& request) {
  if (!request.has_start_timeout()) return kDefaultStartTimeout;
  return std::clamp(FromProto(request.start_timeout()), absl::Milliseconds(1), kLongestStart);
}

}  // namespace cohost::worker
