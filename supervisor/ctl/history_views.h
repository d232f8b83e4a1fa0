// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "proto/admin.pb.h"
#include "supervisor/ctl/look.h"

// What cohostctl says of versions. Pure functions.
namespace cohost::supervisor {

std::string DeployView(const admin::v1::DeployResponse& response);
// Of one service when it is named, else of the deployment.
std::string HistoryView(const admin::v1::ListHistoryResponse& history, const std::string& service,
                        const Look& look);
std::string MaintainModulesView(const admin::v1::MaintainModulesResponse& response, bool check,
                                bool collect);

}  // namespace cohost::supervisor
