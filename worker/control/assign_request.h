// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/worker.pb.h"
#include "worker/services/service_entry.h"

namespace cohost::worker {

// What the service table needs of a request to load a service. INVALID_ARGUMENT names the field
// that is out of its range: the supervisor has validated the deployment, but a worker trusts no
// number that it is sent.
absl::StatusOr<ServiceDescription> DescribeService(const v1::AssignRequest& request);

// start_timeout with its default and its cap.
absl::Duration StartTimeout(const v1::AssignRequest& request);

// However steadily a service reports progress, it may not start for longer.
inline constexpr absl::Duration kLongestStart = absl::Minutes(10);

}  // namespace cohost::worker
