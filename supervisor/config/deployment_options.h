// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "supervisor/config/config_error.h"
#include "supervisor/config/load_options.h"
#include "supervisor/config/reader/deployment_draft.h"

namespace cohost::supervisor {

// Completes a draft: overrides of the command line, port offset, and the admin socket's default.
// Errors that belong to no key are those of `file`.
void ApplyOptions(const LoadOptions& options, const std::string& file, DeploymentDraft& draft,
                  ConfigErrors& errors);

}  // namespace cohost::supervisor
