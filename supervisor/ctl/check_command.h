// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "supervisor/ctl/invocation.h"
#include "supervisor/ctl/look.h"

namespace cohost::supervisor {

// `check APP`, without a host: whether the application can share a worker with the .NET of this
// machine ($DOTNET_ROOT or where it usually is), each finding with its reason and remedy. Exit
// status 0 when it can, 1 when not or when there is nothing to check.
int RunCheckCommand(const Invocation& invocation, const Look& look, std::ostream& out,
                    std::ostream& errors);

}  // namespace cohost::supervisor
