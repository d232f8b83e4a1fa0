// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohost::worker {

// Takes a chunked request body apart, in pieces of any size. I/O thread only.
class ChunkedBody {
 public:
  enum class Result {
    kMore,       // more bytes are needed, or the sink is full
    kComplete,   // the last chunk and the trailers have been read
    kMalformed,  // to be answered 400
    kTooLarge,   // to be answered 413
  };
  // Takes the next bytes of the body; not empty, at most the room that was given.
  using Sink = std::function<void(std::string_view)>;

  // More than `body_bytes` of data is kTooLarge; a line, or the trailers together, of more than
  // `header_bytes` is kMalformed.
  ChunkedBody(uint64_t body_bytes, uint64_t header_bytes, Sink sink);
  ~ChunkedBody();

  // Reads from `bytes`, at most `room` bytes of data, and sets `consumed`. What was not consumed is
  // given again, longer, with the next call.
  Result Read(std::string_view bytes, size_t room, size_t* consumed);

  // After kComplete, without those that would change how the request is read.
  const std::vector<std::pair<std::string, std::string>>& trailers() const;

 private:
  class Parser;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace cohost::worker
