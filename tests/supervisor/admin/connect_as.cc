// SPDX-License-Identifier: Apache-2.0
//
// `connect_as UID SOCKET`: becomes UID, connects, and says with its exit code what became of the
// connection.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

constexpr int kAdmitted = 10;  // the server sent something
constexpr int kClosed = 11;    // the server closed it without a byte
constexpr int kNoConnection = 12;
constexpr int kNoSuchUser = 13;

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  const auto uid = static_cast<uid_t>(std::atoi(argv[1]));
  if (::setgid(uid) != 0 || ::setuid(uid) != 0) return kNoSuchUser;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string(argv[2]).copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return kNoConnection;
  }
  ::alarm(20);
  // An HTTP/2 server speaks first: SETTINGS.
  char byte = 0;
  return ::read(fd, &byte, 1) == 1 ? kAdmitted : kClosed;
}
