// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/clock.h"

namespace cohost::worker {

// Why a request ended before its answer was complete.
enum class CancelReason : uint32_t {
  kClientGone = 1,      // the connection was closed or broken
  kRequestTimeout = 2,  // answered 504 by the host
  kDraining = 3,        // the worker's drain time is over
  kRemoved = 4,         // the service is being removed
  kProtocol = 5,        // the rest of the request was malformed or too large
};

struct HeaderView {
  std::string_view name;
  std::string_view value;
};

// What an operation on an exchange came to.
enum class ExchangeResult : uint32_t {
  kOk,
  // Nothing was done for now; the callback given to OnReadable or OnWritable will say when to try
  // again.
  kWouldBlock,
  // ReadBody: the body is complete.
  kEnd,
  // The exchange has ended (client gone, timeout, already answered): nothing was done and nothing
  // will be.
  kGone,
  // The call is not allowed now (second head, body before head, more bytes than content_length, bad
  // header name or value, status outside 200 to 599): nothing was done.
  kInvalid,
};

// One HTTP request and its answer, between the connection and the runtime that hosts the service.
// The request's views stay valid until the last reference is gone. Every method may be called from
// any thread; calls for one exchange are serialised inside. Held by shared_ptr: the connection
// holds one reference until the answer is complete or the exchange is cancelled, the runtime holds
// others as it likes.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  virtual ~Exchange() = default;

  virtual std::string_view method() const = 0;
  // As it came, not decoded: "/a%20b?c=d", or "*" for OPTIONS.
  virtual std::string_view target() const = 0;
  // In the order of arrival, repeated ones repeated. Names as they came.
  virtual std::span<const HeaderView> headers() const = 0;
  // "127.0.0.1:45678", "[::1]:45678" or "unix"; the numeric address of the connection's other end.
  virtual std::string_view peer() const = 0;
  // Known length of the request body; unset when it is chunked. 0: no body.
  virtual std::optional<uint64_t> content_length() const = 0;
  // When the head was complete, and when the host will answer 504.
  virtual SteadyTime start() const = 0;
  virtual SteadyTime deadline() const = 0;

  // Copies up to `size` bytes of the request body; kOk sets `*read` to 1 or more. `Expect:
  // 100-continue` is answered by the first call.
  virtual ExchangeResult ReadBody(char* buffer, size_t size, size_t* read) = 0;
  // Trailers of a chunked request body; empty until ReadBody said kEnd.
  virtual std::span<const HeaderView> trailers() const = 0;
  // `ready` is called once, on the I/O thread, when ReadBody would not block or the exchange is
  // gone.
  virtual void OnReadable(std::function<void()> ready) = 0;

  // The whole answer at once. Content-Length, Date and Connection are the host's; `headers` may not
  // name them or Transfer-Encoding, Keep-Alive, Upgrade, Trailer. A HEAD request gets the head of
  // the same answer. Bytes are copied.
  virtual ExchangeResult Respond(uint32_t status, std::span<const HeaderView> headers,
                                 std::string_view body) = 0;

  // The answer in parts: the head, then body parts, then Finish. Without `content_length` it is
  // chunked (HTTP/1.0: until close).
  virtual ExchangeResult SendHead(uint32_t status, std::span<const HeaderView> headers,
                                  std::optional<uint64_t> content_length) = 0;
  // Takes all of `part` or, when 64 KiB or more wait for the client, none of it (kWouldBlock).
  virtual ExchangeResult WriteBody(std::string_view part) = 0;
  // `ready` is called once, on the I/O thread, when WriteBody would not block or the exchange is
  // gone.
  virtual void OnWritable(std::function<void()> ready) = 0;
  // `trailers` only after a chunked head; they are left out where the client cannot take them.
  virtual ExchangeResult Finish(std::span<const HeaderView> trailers) = 0;
  // Ends the exchange without a complete answer: 500 when no head was sent, otherwise the
  // connection is cut, so that the client sees that the answer is not whole.
  virtual void Abort() = 0;

  // For the runtime's own bookkeeping (the 64-bit handle of the native runtime). Set and read by
  // the runtime only.
  uint64_t runtime_tag = 0;
};

}  // namespace cohost::worker
