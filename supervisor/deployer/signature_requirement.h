// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "supervisor/admin/host_control.h"
#include "supervisor/deployer/prepared_deployment.h"
#include "supervisor/placement/placement.h"

namespace cohost::supervisor {

// Whether the services may run where they were placed: every file of a service has to be signed by
// one of the keys that its group's policy names (signatures.required_from), as the survey of the
// stored copies found. One problem a file that is not, with service, file, what is missing and what
// to do. A file that the survey does not know is signed by nobody. Pure; after it nothing looks at
// signatures any more.
std::vector<ConfigProblem> CheckSignatures(const PreparedDeployment& prepared,
                                           const Placement& placement);

}  // namespace cohost::supervisor
