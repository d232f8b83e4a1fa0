// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// The line of JSON that goes to --ready-fd when every service is ready or failed:
//   {"services":47,"ready":47,"failed":0,"workers":6,"ready_after_ms":63.1,"admin":"/run/.../admin.sock",
//    "metrics":"http://127.0.0.1:9464/metrics","keeper_pid":1,"supervisor_pid":2,
//    "addresses":{"currencies":["http://127.0.0.1:8101"],...}}
// `addresses` is left out of a line that would be longer than the keeper takes.
std::string ReadyLine(const HostSnapshot& snapshot, const std::string& admin_socket);

}  // namespace cohost::supervisor
