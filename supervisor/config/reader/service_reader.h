// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "supervisor/config/reader/deployment_draft.h"
#include "supervisor/config/reader/map_reader.h"

namespace cohost::supervisor {

// One entry of `services`.
void ReadService(MapReader& reader, DeploymentDraft& draft);

}  // namespace cohost::supervisor
