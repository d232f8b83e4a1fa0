// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "tests/support/wait.h"

namespace cohost::testing {

struct HttpAnswer {
  int status = 0;
  std::string head;  // status line and headers, as they came
  std::string body;

  bool closes() const { return head.find("Connection: close") != std::string::npos; }
};

// One client connection that blocks, every read with the tests' patience. Reads bodies with a
// Content-Length or in chunks.
class HttpClient {
 public:
  static absl::StatusOr<HttpClient> Connect(uint16_t loopback_port);
  explicit HttpClient(UniqueFd socket) : socket_(std::move(socket)) {}

  // UNAVAILABLE when the connection ended instead (DATA_LOSS: by a reset).
  absl::StatusOr<HttpAnswer> Get(const std::string& target);
  absl::Status Send(const std::string& bytes);
  absl::StatusOr<HttpAnswer> Receive();
  // Whether the server has closed the connection, waiting for it.
  bool WaitUntilClosed();

 private:
  absl::Status ReadMore();
  absl::StatusOr<std::string> ReadLine();
  // The body in chunks (RFC 9112, 7.1), without its trailers.
  absl::StatusOr<std::string> ReadChunks();

  UniqueFd socket_;
  std::string unread_;
};

}  // namespace cohost::testing
