// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"
#include "supervisor/config/deployment.h"
#include "supervisor/listen/unix_socket_file.h"

namespace cohost::supervisor {

// A listening socket and the address it really has. Whoever holds it never calls shutdown() on it
// and never changes its file flags: both belong to every holder of a duplicate.
struct Listener {
  // The address asked for; a port 0 is replaced by the kernel's choice in `port` and `text`.
  Address address;
  UniqueFd fd;
  // kUnix: the socket file, so that closing removes ours and never somebody else's.
  SocketFile file;
};

// Opens and listens: CLOEXEC, non-blocking, SO_REUSEADDR and never SO_REUSEPORT, IPV6_V6ONLY.
// A unix socket gets its owner (`address.owner`, else `default_owner`, else the caller; with the
// owner's primary group) and mode before anybody can connect; a socket file that nobody listens on
// is replaced atomically, and anything else at the path is refused and left alone. ALREADY_EXISTS
// names the process that holds the address, when it can be found. Blocks on the disk only.
// Thread-safe.
absl::StatusOr<Listener> OpenListener(const Address& address,
                                      std::optional<uid_t> default_owner = std::nullopt);

// Takes over a descriptor that somebody else opened (the keeper for an earlier supervisor,
// systemd). INVALID_ARGUMENT unless it is a stream socket that listens on `address` (port 0 fits
// any port of the host) and, for a unix socket, unless the file at its path is `file`, or without
// one, the name that it was bound to. Sets CLOEXEC.
absl::StatusOr<Listener> AdoptListener(UniqueFd fd, const Address& address,
                                       std::optional<SocketFile> file = std::nullopt);

// Applies the address's mode, owner and backlog to an open listener. Nothing to do is OK.
absl::Status ApplyAttributes(const Listener& listener, const Address& address,
                             std::optional<uid_t> default_owner);

}  // namespace cohost::supervisor
