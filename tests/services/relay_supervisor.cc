// SPDX-License-Identifier: Apache-2.0
//
// Stands in cohost-supervisor's place and gives its seat to the test: it connects to the unix
// socket COHOST_TEST_SOCKET, sends its arguments with the keeper's socket (descriptor 3), and then
// only does what it is told: "exit N" ends it with that code, "abort" with a signal. It ends with
// the test.

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "base/system/seqpacket.h"

int main(int argc, char** argv) {
  const char* path = getenv("COHOST_TEST_SOCKET");
  if (path == nullptr) return 99;
  const int socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
  if (connect(socket_fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return 98;
  }
  std::string arguments;
  for (int i = 1; i < argc; ++i) arguments += std::string(argv[i]) + "\n";
  const int keeper_socket = 3;
  if (!cohost::SendMessage(socket_fd, arguments + ".", {&keeper_socket, 1}).ok()) return 97;
  close(keeper_socket);
  char command[64] = {};
  if (recv(socket_fd, command, sizeof(command) - 1, 0) <= 0) return 0;
  if (strncmp(command, "exit ", 5) == 0) return atoi(command + 5);
  abort();
}
