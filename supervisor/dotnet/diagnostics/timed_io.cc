// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/diagnostics/timed_io.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/status.h"

namespace cohost::supervisor {
namespace {

// What poll(2) takes; further moments are waited for in steps.
constexpr absl::Duration kLongestPoll = absl::Hours(1);

absl::Status Closed() { return absl::OutOfRangeError("the other end has closed the connection"); }

}  // namespace

absl::Status WaitFor(int fd, short events, SteadyTime until, const Interrupt& interrupt) {
  while (true) {
    if (interrupt.raised()) return absl::CancelledError("nobody waits for it any more");
    const absl::Duration left = until - SystemClock().Steady();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("no answer in time");
    pollfd watched[] = {{fd, events, 0}, {interrupt.fd(), POLLIN, 0}};
    // Rounded up, so that the last step does not spin.
    const auto step = absl::ToInt64Milliseconds(std::min(left, kLongestPoll)) + 1;
    const int ready = ::poll(watched, 2, static_cast<int>(step));
    if (ready < 0 && errno != EINTR) return ErrnoStatus(errno, "poll", "");
    if (ready > 0 && watched[0].revents != 0) return absl::OkStatus();
  }
}

absl::Status SendAll(int fd, std::string_view bytes, SteadyTime until, const Interrupt& interrupt) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return Closed();
    if (errno != EAGAIN) return ErrnoStatus(errno, "send", "");
    COHOST_RETURN_IF_ERROR(WaitFor(fd, POLLOUT, until, interrupt));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReceiveSome(int fd, size_t most, SteadyTime until,
                                        const Interrupt& interrupt) {
  std::string bytes(most, '\0');
  while (true) {
    COHOST_RETURN_IF_ERROR(WaitFor(fd, POLLIN, until, interrupt));
    const ssize_t received = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    // What was still unread when the other end closed is lost with it.
    if (received < 0 && errno == ECONNRESET) return std::string();
    if (received < 0) return ErrnoStatus(errno, "recv", "");
    bytes.resize(static_cast<size_t>(received));
    return bytes;
  }
}

absl::StatusOr<std::string> ReceiveExactly(int fd, size_t size, SteadyTime until,
                                           const Interrupt& interrupt) {
  std::string bytes;
  while (bytes.size() < size) {
    COHOST_ASSIGN_OR_RETURN(const std::string some,
                            ReceiveSome(fd, size - bytes.size(), until, interrupt));
    if (some.empty()) return Closed();
    bytes += some;
  }
  return bytes;
}

}  // namespace cohost::supervisor
