// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"
#include "proto/admin.grpc.pb.h"
#include "supervisor/ctl/exchange/archive/file_list.h"
#include "supervisor/ctl/exchange/deployment_difference.h"

// The deployment of a running host (ExportDeployment of the admin API).
namespace cohost::supervisor {

// All parts as one message.
grpc::Status FetchDeployment(admin::v1::Admin::Stub& stub, absl::Duration timeout,
                             admin::v1::DeploymentPart* whole);

// INTERNAL when the host says something that no archive can say (a kind of file of a later
// version).
absl::StatusOr<FileList> FileListOf(const admin::v1::DeploymentPart& whole);

// The deployment's text as a file of the host would say it: without the host's port offset.
absl::StatusOr<std::string> TextWithoutOffset(const admin::v1::DeploymentPart& whole);

FileHashes HashesOf(const FileList& list);

}  // namespace cohost::supervisor
