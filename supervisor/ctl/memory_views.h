// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "proto/admin.pb.h"
#include "supervisor/ctl/look.h"

// Answers about memory and modules as texts for people. Pure functions.
namespace cohost::supervisor {

std::string ModulesView(const admin::v1::ListModulesResponse& list, const Look& look);
// What processes take, and what modules do, of one answer.
std::string MemoryView(const admin::v1::Memory& memory, const Look& look);
std::string ModuleMemoryView(const admin::v1::Memory& memory, const Look& look);
std::string UnsharedMemoryView(const admin::v1::UnsharedMemory& memory, const Look& look);

}  // namespace cohost::supervisor
