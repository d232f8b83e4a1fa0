// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace cohost::supervisor {

// Accepts admin connections on the loop: only from uids that may, at most so many at a time, and
// without spinning when the process is out of descriptors (SOK-04). Loop thread only, except
// accept_errors(). `loop` outlives it; handlers that are still queued at its end do nothing.
class AdminAcceptor {
 public:
  struct Options {
    // Besides uid 0 and this process's effective uid.
    std::vector<uid_t> allowed_uids;
    size_t max_connections = 64;
    // Takes over a connection: O_NONBLOCK and CLOEXEC, its number not used by the latest
    // connections before it.
    std::function<void(UniqueFd connection, uid_t uid)> on_connection;
    // A connection has ended; `fd` is the number that on_connection got.
    std::function<void(int fd)> on_end;
    // What operators should know, at most once a minute for each cause.
    std::function<void(std::string_view)> on_problem;
  };

  // FAILED_PRECONDITION unless `listener` has O_NONBLOCK: it is set by whoever opens the socket,
  // since the flag belongs to all its holders.
  static absl::StatusOr<std::unique_ptr<AdminAcceptor>> Start(boost::asio::io_context& loop,
                                                              UniqueFd listener, Options options);
  ~AdminAcceptor();
  AdminAcceptor(const AdminAcceptor&) = delete;
  AdminAcceptor& operator=(const AdminAcceptor&) = delete;

  // Thread-safe.
  uint64_t accept_errors() const;

 private:
  class State;
  explicit AdminAcceptor(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace cohost::supervisor
