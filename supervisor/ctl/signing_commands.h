// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "supervisor/ctl/invocation.h"

namespace cohost::supervisor {

// `modules sign`, `modules verify` and `modules new-key`, all without a host: one line a file on
// `out`, or one JSON document; what went wrong in all on `errors`; the exit status. A file that
// cannot be signed or has no good signature does not keep the others from their turn.
int RunSigningCommand(const Invocation& invocation, std::ostream& out, std::ostream& errors);

}  // namespace cohost::supervisor
