// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/status.h"
#include "supervisor/admin/host_control.h"
#include "supervisor/deployer/prepared_deployment.h"

// What another host needs to run the same. Of a prepared deployment only what its file says is
// taken, never the settings in which references have become secrets.
namespace cohost::supervisor {

// FAILED_PRECONDITION when the deployment has what an export cannot hold: applications of dotnet
// services.
absl::Status CheckExportable(const PreparedDeployment& prepared);

// Without revision, port offset and signatures. `text` is what FormatDeployment writes of it.
DeploymentExport DescribeDeployment(const PreparedDeployment& prepared, const std::string& text);

// The signatures that the store in `folder` keeps (signature_store.h); a file without any is fine.
// DATA_LOSS when some cannot be read. Blocks on the disk.
absl::Status AddSignatures(const std::string& folder, DeploymentExport& exported);

}  // namespace cohost::supervisor
