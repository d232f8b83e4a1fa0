// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "supervisor/config/reader/deployment_draft.h"
#include "supervisor/config/reader/map_reader.h"

namespace cohost::supervisor {

// The keys that groups and group_defaults share; absent ones keep their value.
void ReadPolicy(MapReader& reader, GroupPolicy& policy, PolicyPlaces& places);

// One entry of `groups`, on top of the draft's group_defaults.
void ReadGroup(MapReader& reader, DeploymentDraft& draft);

}  // namespace cohost::supervisor
