// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "boost/asio/io_context.hpp"

namespace cohost::worker {

// One GET from inside the worker, over a socket whose other end the HTTP server serves: warm-up and
// probes take the path that clients take. Reads the whole answer and keeps its status. I/O thread
// only. Ends at the answer's end, at `timeout`, or when it is destroyed (then without a call).
class LocalRequest {
 public:
  // `done` gets the status code once, or why there was none (DEADLINE_EXCEEDED at the timeout), and
  // may destroy the request.
  LocalRequest(boost::asio::io_context& io, UniqueFd socket, const std::string& target,
               absl::Duration timeout, std::function<void(absl::StatusOr<int>)> done);
  ~LocalRequest();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Whether `target` can stand in a request line as it is: begins with "/", visible ASCII, at most
// 4,096 bytes.
bool IsLocalTarget(const std::string& target);

}  // namespace cohost::worker
