// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/services/exchange.h"

namespace cohost::worker {

// Finds the end of a request head in bytes that arrive little by little; every byte is looked at
// once. Lines end with CR LF and nothing else.
class HeadScanner {
 public:
  enum class Result { kMore, kComplete, kMalformed };

  // `bytes` begins with the head's first byte and only grows between calls.
  Result Scan(std::string_view bytes);
  // Of the head, after kComplete.
  size_t size() const { return scanned_; }
  // Whether the request line is whole.
  bool past_request_line() const { return line_start_ > 0; }
  void Reset() { *this = {}; }

 private:
  size_t scanned_ = 0;
  size_t line_start_ = 0;
};

// A request head as it was understood. Views point into the head's bytes, or into `rewritten`.
struct RequestHead {
  std::string_view method;
  // Origin form or "*": an absolute form is reduced to it, and its authority is the Host value.
  std::string_view target;
  std::vector<HeaderView> headers;
  // Unset: chunked.
  std::optional<uint64_t> content_length;
  bool http_1_0 = false;
  bool keep_alive = false;
  bool expects_continue = false;
  std::string rewritten;

  bool is_head() const { return method == "HEAD"; }
};

// Reads a complete head, its final empty line included, into `head`, whose memory is used again.
// Returns 0, or the status to refuse the request with: 400 for anything malformed or ambiguous
// (both Content-Length and Transfer-Encoding, several of either, folded lines, a Host that is
// missing, doubled or invalid), 417 for an unknown expectation, 501 for CONNECT, TRACE and unknown
// transfer codings, 505 for other versions. Upgrade is ignored.
uint32_t ParseRequestHead(std::string_view bytes, RequestHead& head);

}  // namespace cohost::worker
