// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "supervisor/ctl/invocation.h"
#include "supervisor/ctl/views.h"

namespace cohost::supervisor {

// Runs one command: the answer on `out`, what went wrong on `errors`; the exit status.
int RunCommand(const Invocation& invocation, const Look& look, std::ostream& out,
               std::ostream& errors);

}  // namespace cohost::supervisor
