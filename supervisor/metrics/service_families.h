// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "supervisor/metrics/family.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// The metrics of every service, then those of their modules. Of two services that give one name two
// types, the first in the snapshot's order wins; the other's series is left out and counted. Pure.
void AddServiceFamilies(const HostSnapshot& snapshot, Families& families);
void AddModuleFamilies(const HostSnapshot& snapshot, Families& families);

}  // namespace cohost::supervisor
