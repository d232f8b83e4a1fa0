// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/statusor.h"
#include "proto/admin.pb.h"
#include "supervisor/admin/host_control.h"

// Between the admin API and what it tells and asks of versions and the module store.
namespace cohost::supervisor {

// INVALID_ARGUMENT when the path is not absolute or the time makes no sense.
absl::StatusOr<DeployRequest> ToDeployRequest(const admin::v1::DeployRequest& request);

admin::v1::DeployResponse DeployMessage(const DeployOutcome& outcome);
admin::v1::ListHistoryResponse HistoryMessage(const HistoryView& view);
admin::v1::MaintainModulesResponse MaintainModulesMessage(const StoreOutcome& outcome);

}  // namespace cohost::supervisor
