// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "supervisor/ctl/admin_client.h"
#include "supervisor/ctl/invocation.h"
#include "supervisor/ctl/look.h"

namespace cohost::supervisor {

// `dump SERVICE [FILE]`: a core dump of its worker into a file, for `dotnet-dump analyze`; says
// that it holds all services of the worker, and which. The exit status.
int RunDump(const Invocation& invocation, AdminClient& client, const Look& look, std::ostream& out,
            std::ostream& errors);

// `trace SERVICE [FILE]`: a .nettrace file of its worker. The exit status.
int RunTrace(const Invocation& invocation, AdminClient& client, const Look& look, std::ostream& out,
             std::ostream& errors);

}  // namespace cohost::supervisor
