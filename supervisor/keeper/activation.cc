// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/activation.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace cohost::supervisor {
namespace {

constexpr int kFirstDescriptor = 3;
// systemd's own limit on sockets of one unit is far below.
constexpr int kMostDescriptors = 1024;

std::string TakeVariable(const char* name) {
  const char* value = getenv(name);
  std::string copy = value == nullptr ? "" : value;
  unsetenv(name);
  return copy;
}

absl::Status CheckListening(int fd) {
  int value = 0;
  socklen_t size = sizeof(value);
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) != 0 || value != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("LISTEN_FDS: descriptor ", fd, " is not a listening socket"));
  }
  size = sizeof(value);
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &size) != 0 || value != SOCK_STREAM) {
    return absl::InvalidArgumentError(
        absl::StrCat("LISTEN_FDS: descriptor ", fd, " is not a stream socket"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ActivatedSocket>> TakeActivatedSockets() {
  const std::string pid_text = TakeVariable("LISTEN_PID");
  const std::string count_text = TakeVariable("LISTEN_FDS");
  const std::vector<std::string> names = absl::StrSplit(TakeVariable("LISTEN_FDNAMES"), ':');
  std::vector<ActivatedSocket> sockets;
  pid_t pid = 0;
  if (!absl::SimpleAtoi(pid_text, &pid) || pid != getpid()) return sockets;
  int count = 0;
  if (!absl::SimpleAtoi(count_text, &count) || count < 0 || count > kMostDescriptors) {
    return absl::InvalidArgumentError(
        absl::StrCat("LISTEN_FDS: '", count_text, "' is not a number up to ", kMostDescriptors));
  }
  for (int fd = kFirstDescriptor; fd < kFirstDescriptor + count; ++fd) {
    const absl::Status status = CheckListening(fd);
    if (!status.ok()) return status;
    // Ignoring the result: the descriptor was just seen to be open.
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    const auto index = static_cast<size_t>(fd - kFirstDescriptor);
    sockets.push_back({index < names.size() ? names[index] : "", UniqueFd(fd)});
  }
  return sockets;
}

}  // namespace cohost::supervisor
