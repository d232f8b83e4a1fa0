// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "supervisor/ctl/admin_client.h"
#include "supervisor/ctl/invocation.h"

namespace cohost::supervisor {

// `cohostctl export FILE [--modules]`: the deployment in force as an archive (archive_head.h). FILE
// appears whole or not at all, readable for its owner alone; one that is there is replaced. Returns
// the exit status.
int RunExport(const Invocation& invocation, AdminClient& client, std::ostream& out,
              std::ostream& errors);

}  // namespace cohost::supervisor
