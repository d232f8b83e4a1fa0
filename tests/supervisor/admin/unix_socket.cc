// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/admin/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

namespace cohost::testing {
namespace {

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

}  // namespace

UniqueFd ListenOn(const std::string& path) {
  UniqueFd fd = UnixSocket();
  const sockaddr_un address = UnixAddress(path);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(fd.get(), 128) != 0) {
    fd.Reset();
  }
  return fd;
}

UniqueFd UnixSocket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool ConnectTo(const UniqueFd& fd, const std::string& path) {
  const sockaddr_un address = UnixAddress(path);
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace cohost::testing
