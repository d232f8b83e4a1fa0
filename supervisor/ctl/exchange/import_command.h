// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "supervisor/ctl/admin_client.h"
#include "supervisor/ctl/invocation.h"

namespace cohost::supervisor {

// `cohostctl import FILE`: checks the whole archive, shows what would change, asks, lays the files,
// replaces the host's deployment file and has it applied. When the host refuses it, everything is
// put back. `answers` is where a person answers; null: nobody can be asked. Returns the exit
// status.
int RunImport(const Invocation& invocation, AdminClient& client, std::istream* answers,
              std::ostream& out, std::ostream& errors);

}  // namespace cohost::supervisor
