// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "supervisor/deployer/prepared_deployment.h"
#include "supervisor/listen/listener_set.h"
#include "supervisor/placement/placement.h"
#include "supervisor/pool/pool_target.h"
#include "supervisor/state/state.h"

namespace cohost::supervisor {

// Keys of the host's own listeners.
inline constexpr char kAdminListener[] = "host.admin";
inline constexpr char kMetricsListener[] = "host.metrics";

// Every socket that should be open: the host's own, and those of all services that no operator has
// stopped.
std::vector<WantedListener> WantedListeners(const PreparedDeployment& prepared,
                                            const Placement& placement,
                                            const std::set<std::string>& stopped);

// What the pool should make true. Every wanted listener is open in `listeners`; `ids` gets numbers
// for services that have none.
PoolTarget MakePoolTarget(const PreparedDeployment& prepared, const Placement& placement,
                          const std::set<std::string>& stopped, const ListenerSet& listeners,
                          ServiceIds& ids);

// Has the new version tried in the first worker of its group, beside `prepared`, which has the
// version in force. Nothing when the service is not in the target.
void AddCanary(const PreparedDeployment& prepared, const PreparedService& canary,
               const ListenerSet& listeners, const ServiceIds& ids, PoolTarget& target);

// state_dir/data/SERVICE for every native service, owned by whom its workers run as.
absl::Status MakeDataFolders(const PreparedDeployment& prepared, const Placement& placement);

// Whom the workers of a placed group run as, and its policy.
const ProcessIdentity& IdentityOf(const PreparedDeployment& prepared, const PlacedGroup& group);
const GroupPolicy& PolicyOf(const PreparedDeployment& prepared, const PlacedGroup& group);

// Real addresses of a service, in the order of its `listen`.
std::vector<std::string> AddressesOf(const Service& service, const ListenerSet& listeners);

}  // namespace cohost::supervisor
