// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "proto/admin.pb.h"
#include "supervisor/ctl/look.h"

// Answers of the host as texts for people. Pure functions.
namespace cohost::supervisor {

std::string StatusView(const admin::v1::Status& status, const Look& look);
std::string ServicesView(const admin::v1::ListServicesResponse& list, const Look& look);
// What is the service's own of what its worker shares, on one line.
std::string OwnFigures(const admin::v1::Service& service);
std::string ServiceSheet(const admin::v1::Service& service, const Look& look);
std::string GroupsView(const admin::v1::ListGroupsResponse& list, const Look& look);
std::string GroupSheet(const admin::v1::Group& group, const Look& look);
std::string WorkersView(const admin::v1::ListWorkersResponse& list, const Look& look);
std::string PlanView(const admin::v1::PlanResponse& plan, const Look& look);
std::string ReloadView(const admin::v1::ReloadResponse& reload);
std::string RecycleView(const admin::v1::RecycleResponse& recycle);
// One line.
std::string EventLine(const admin::v1::Event& event, const Look& look);
// `with_worker` puts the slot in front.
std::string LogText(const admin::v1::LogLine& line, bool with_worker, const Look& look);

// `file:line:column: key: message`, one line.
std::string ProblemLine(const admin::v1::ConfigProblem& problem);

}  // namespace cohost::supervisor
