// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "proto/admin.pb.h"
#include "supervisor/admin/host_control.h"

// A deployment as messages that are small enough each, however many services it has. Pure.
namespace cohost::supervisor {

std::vector<admin::v1::DeploymentPart> DeploymentParts(const DeploymentExport& exported);

}  // namespace cohost::supervisor
