// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "supervisor/admin/host_control.h"
#include "supervisor/config/deployment_loader.h"
#include "supervisor/config/load_options.h"
#include "supervisor/placement/placement.h"

namespace cohost::supervisor {

struct DeployerSettings {
  std::string deployment_file;
  LoadOptions load_options;
  bool as_root = false;
};

// The deployment of that text; of the file on disk when it is empty. Blocks on the disk.
LoadResult ReadDeployment(const DeployerSettings& settings, const std::string& text,
                          const std::string& file_name);

// Reads and places a deployment without touching anything: `text` empty means the file on disk.
// Any thread; blocks on the disk.
PlanOutcome PlanDeployment(const DeployerSettings& settings, const std::string& text,
                           const std::string& file_name, PlacementRecord previous);

// A problem of the whole deployment.
ConfigProblem HostProblem(const DeployerSettings& settings, const absl::Status& status);

}  // namespace cohost::supervisor
