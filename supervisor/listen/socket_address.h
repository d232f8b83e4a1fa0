// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <string>

#include "absl/status/statusor.h"
#include "supervisor/config/deployment.h"

namespace cohost::supervisor {

// An address as the kernel takes it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// INVALID_ARGUMENT for a host that is not numeric.
absl::StatusOr<SocketAddress> TcpSocketAddress(const Address& address);
// OUT_OF_RANGE with the real length for a path above 107 bytes.
absl::StatusOr<SocketAddress> UnixSocketAddress(const std::string& path);

// What a socket is bound to.
absl::StatusOr<SocketAddress> BoundAddress(int fd);
uint16_t PortOf(const SocketAddress& address);
// Empty for a socket without a name, or with an abstract one.
std::string PathOf(const SocketAddress& address);

}  // namespace cohost::supervisor
