// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "supervisor/metrics/family.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// What modules took when all mappings were read last; nothing before the first time. Pure.
void AddModuleMemoryFamilies(const HostSnapshot& snapshot, Families& families);

}  // namespace cohost::supervisor
