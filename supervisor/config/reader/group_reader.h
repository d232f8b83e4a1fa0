// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "supervisor/config/reader/deployment_draft.h"
#include "supervisor/config/reader/map_reader.h"

namespace cohost::supervisor {

// The keys that groups and group_defaults share; absent ones keep their value. `signatures_from`
// gets the keys that are named here.
void ReadPolicy(MapReader& reader, GroupPolicy& policy, std::vector<NamedKey>& signatures_from);

// One entry of `groups`, on top of the draft's group_defaults.
void ReadGroup(MapReader& reader, DeploymentDraft& draft);

}  // namespace cohost::supervisor
