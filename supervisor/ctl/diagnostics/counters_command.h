// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "supervisor/ctl/admin_client.h"
#include "supervisor/ctl/invocation.h"
#include "supervisor/ctl/look.h"

namespace cohost::supervisor {

// `counters SERVICE`: what the runtime counts for the whole worker, an interval after the other,
// each with the service's own figures, until the duration is over or the process is ended. The
// events come from the worker and are made sense of here: the supervisor, which has more rights,
// only passes them on, and a worker that nobody looks at counts nothing for it. The exit status.
int RunCounters(const Invocation& invocation, AdminClient& client, const Look& look,
                std::ostream& out, std::ostream& errors);

}  // namespace cohost::supervisor
