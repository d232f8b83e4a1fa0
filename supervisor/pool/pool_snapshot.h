// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "supervisor/pool/ledger.h"
#include "supervisor/pool/worker_group.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

using WorkerGroups = std::map<std::string, std::unique_ptr<WorkerGroup>>;

// Adds to a snapshot what workers know; see Pool::FillSnapshot. Loop thread only.
// `binary_id` is that of the workers that this supervisor starts; empty: not compared.
void FillWorkers(const WorkerGroups& groups, const Ledger& ledger, const Clock& clock,
                 const std::string& binary_id, HostSnapshot& snapshot);
void FillServices(const WorkerGroups& groups, const Ledger& ledger, SteadyTime now,
                  HostSnapshot& snapshot);

}  // namespace cohost::supervisor
