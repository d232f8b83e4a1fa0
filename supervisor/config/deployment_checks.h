// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "supervisor/config/config_error.h"
#include "supervisor/config/reader/deployment_draft.h"

namespace cohost::supervisor {

// What no value alone can show: names used twice, references to nothing, two listeners on one
// address, services that fit nowhere. Each mistake is reported where it stands and names the other
// place.
void CheckDeployment(const DeploymentDraft& draft, ConfigErrors& errors);

}  // namespace cohost::supervisor
