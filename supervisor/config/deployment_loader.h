// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/config/config_error.h"
#include "supervisor/config/deployment.h"
#include "supervisor/config/load_options.h"

namespace cohost::supervisor {

struct LoadResult {
  // Set exactly when `errors` is empty.
  std::optional<Deployment> deployment;
  // Every mistake of all files, sorted by file and place.
  std::vector<ConfigError> errors;
  // All files that were read, the deployment file first.
  std::vector<std::string> files;
};

// Reads, checks and completes a deployment: the one path for `validate`, start and reload. Opens no
// socket and changes nothing. Blocks on the disk. Thread-safe.
LoadResult LoadDeployment(const std::string& path, const LoadOptions& options = {});

// The same for a text that did not come from a file. `file_name` stands in messages; relative paths
// and includes are relative to its folder.
LoadResult ParseDeployment(std::string_view text, const std::string& file_name,
                           const LoadOptions& options = {});

}  // namespace cohost::supervisor
