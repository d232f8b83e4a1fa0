// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/worker.pb.h"
#include "supervisor/pool/generation/worker_client.h"
#include "supervisor/pool/pool_target.h"

// The words of cohost.worker.v1 for the values of the pool, and back.
namespace cohost::supervisor {

void SetDuration(google::protobuf::Duration& target, absl::Duration duration);
// Fails when a listener has no token.
absl::StatusOr<worker::v1::AssignRequest> ToAssignRequest(const ServiceTarget& service,
                                                          absl::Duration start_timeout);
// INVALID_ARGUMENT for a state that answers nothing.
absl::StatusOr<AssignOutcome> FromAssignResponse(const worker::v1::AssignResponse& response);
// What is beyond a limit is cut: at most kMaxModuleMetrics metrics a service, lawful names, finite
// values.
WorkerGauges FromStatistics(const worker::v1::StatisticsBatch& batch);
ProbeOutcome FromServiceHealth(const worker::v1::ServiceHealth& health);

}  // namespace cohost::supervisor
