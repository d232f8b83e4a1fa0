// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "supervisor/config/address_text.h"

namespace cohost::supervisor {

absl::StatusOr<SocketAddress> TcpSocketAddress(const Address& address) {
  SocketAddress result;
  if (address.host.find(':') != std::string::npos) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    result.length = sizeof(sockaddr_in6);
    if (inet_pton(AF_INET6, address.host.c_str(), &v6->sin6_addr) == 1) return result;
  } else {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    result.length = sizeof(sockaddr_in);
    if (inet_pton(AF_INET, address.host.c_str(), &v4->sin_addr) == 1) return result;
  }
  return absl::InvalidArgumentError(absl::StrCat("'", address.host, "' is not a numeric address"));
}

absl::StatusOr<SocketAddress> UnixSocketAddress(const std::string& path) {
  COHOST_RETURN_IF_ERROR(CheckSocketPath(path));
  SocketAddress result;
  auto* address = reinterpret_cast<sockaddr_un*>(&result.storage);
  address->sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address->sun_path);
  result.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return result;
}

absl::StatusOr<SocketAddress> BoundAddress(int fd) {
  SocketAddress result;
  result.length = sizeof(result.storage);
  if (getsockname(fd, result.get(), &result.length) != 0) {
    return ErrnoStatus(errno, "getsockname", "");
  }
  return result;
}

uint16_t PortOf(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
}

std::string PathOf(const SocketAddress& address) {
  constexpr size_t kStart = offsetof(sockaddr_un, sun_path);
  if (address.storage.ss_family != AF_UNIX || address.length <= kStart) return "";
  const char* path = reinterpret_cast<const sockaddr_un*>(&address.storage)->sun_path;
  const char* end = path + std::min<size_t>(address.length - kStart, sizeof(sockaddr_un::sun_path));
  return std::string(path, std::find(path, end, '\0'));
}

}  // namespace cohost::supervisor
