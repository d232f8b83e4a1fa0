// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/system/unique_fd.h"

namespace cohost::testing {

// A listening unix socket, non-blocking, as supervisor/listen opens one; invalid when it failed.
UniqueFd ListenOn(const std::string& path);
// An unconnected one, non-blocking.
UniqueFd UnixSocket();
bool ConnectTo(const UniqueFd& fd, const std::string& path);

}  // namespace cohost::testing
