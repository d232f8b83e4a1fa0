// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "grpcpp/support/status.h"
#include "proto/admin.pb.h"
#include "supervisor/admin/host_control.h"
#include "supervisor/snapshot.h"

// The snapshot's plain values as messages of the admin API. Pure functions.
namespace cohost::supervisor {

admin::v1::Status StatusMessage(const HostSnapshot& snapshot, const std::string& version);
admin::v1::Service ServiceMessage(const ServiceView& service);
// The figures of a group are sums over its workers and services in `snapshot`.
admin::v1::Group GroupMessage(const GroupView& group, const HostSnapshot& snapshot);
admin::v1::Worker WorkerMessage(const WorkerView& worker);
admin::v1::PlanResponse PlanMessage(const PlanOutcome& outcome);
admin::v1::ConfigProblem ProblemMessage(const ConfigProblem& problem);
admin::v1::ReloadResponse ReloadMessage(const ReloadOutcome& outcome);
admin::v1::RecycleResponse RecycleMessage(const RecycleOutcome& outcome);
admin::v1::Event EventMessage(const HostEvent& event);

// Every service that is not stopped is ready in all slots where it should be.
bool IsHealthy(const HostSnapshot& snapshot);

// Same code and text. Texts travel in a header of at most 8 KiB, so a longer one is cut.
grpc::Status GrpcStatus(const absl::Status& status);

}  // namespace cohost::supervisor
