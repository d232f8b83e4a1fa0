// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proto/admin.pb.h"
#include "supervisor/profile/unshared_memory.h"
#include "supervisor/snapshot.h"

// What a snapshot knows of memory and modules as messages of the admin API. Pure functions.
namespace cohost::supervisor {

// Workers and saving are those of `snapshot`.
admin::v1::Module ModuleMessage(const ModuleView& module, const HostSnapshot& snapshot);
// Processes alone.
admin::v1::Memory MemoryMessage(const HostSnapshot& snapshot);
// Adds what was measured of modules; nothing when nothing was.
void AddModuleMemory(const HostSnapshot& snapshot, admin::v1::Memory& memory);
admin::v1::UnsharedMemory UnsharedMessage(const UnsharedMemory& memory);

}  // namespace cohost::supervisor
