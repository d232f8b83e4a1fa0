// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/admin.pb.h"
#include "tests/support/test_host.h"

// Calls of the admin API that change versions, each with a deadline.
namespace cohost::testing {

absl::StatusOr<admin::v1::DeployResponse> Deploy(const TestHost& host, const std::string& service,
                                                 const std::string& path = "", bool wait = false);
absl::StatusOr<admin::v1::DeployResponse> Rollback(const TestHost& host, const std::string& service,
                                                   uint64_t revision = 0, bool wait = false);
absl::StatusOr<admin::v1::ListHistoryResponse> History(const TestHost& host,
                                                       const std::string& service = "");
absl::StatusOr<admin::v1::MaintainModulesResponse> MaintainModules(const TestHost& host, bool check,
                                                                   bool collect);

}  // namespace cohost::testing
