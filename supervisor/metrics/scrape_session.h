// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/system/unique_fd.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace cohost::supervisor {

// One connection to the metrics endpoint: GET and HEAD of `/metrics` and `/`, one request after the
// other. It owns itself and ends with the connection: at the client's wish, at an error, when a
// request or an answer takes too long. The loop's thread only.
class ScrapeSession {
 public:
  struct Options {
    // For the first request's head, and for each answer to be taken.
    absl::Duration io_timeout;
    // From an answer until the next request's head was read.
    absl::Duration idle_timeout;
    std::function<std::shared_ptr<const std::string>()> page;
    // Called once, not when the loop is destroyed.
    std::function<void()> on_end;
  };

  // `connection` is a stream socket with O_NONBLOCK. `loop` outlives it.
  static void Start(boost::asio::io_context& loop, UniqueFd connection, Options options);

 private:
  class Connection;
};

}  // namespace cohost::supervisor
