// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "supervisor/admin/host_control.h"
#include "supervisor/deployer/prepared_deployment.h"
#include "supervisor/state/saved_state.h"

// What one deployment makes of the one before it. Pure.
namespace cohost::supervisor {

// Names in the new and not in the old deployment, and the other way round; of those in both, the
// ones whose workers have to be told. `before` may be null: the first of this supervisor.
void CompareDeployments(const PreparedDeployment* before, const PreparedDeployment& after,
                        ReloadOutcome& outcome);

// For the history: services that are new or whose fingerprint is another than in `known`, those
// named in `changed`, and, without files, those that are gone. Their revision, action, time and uid
// are those of `revision`.
std::vector<ServiceChange> ServiceChanges(const std::map<std::string, ServiceChange>& known,
                                          const PreparedDeployment& after,
                                          const std::vector<std::string>& changed,
                                          const StateRevision& revision);

// Of the files that these changes brought.
std::vector<ModuleRecord> ModuleRecords(const std::vector<ServiceChange>& changes,
                                        const PreparedDeployment& after,
                                        const StateRevision& revision);

// "2 added, 1 changed"; "nothing changed".
std::string SummaryOf(const ReloadOutcome& outcome);

}  // namespace cohost::supervisor
