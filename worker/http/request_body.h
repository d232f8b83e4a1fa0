// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "worker/http/chunked_body.h"
#include "worker/http/request_head.h"

namespace cohost::worker {

// What of a request's body is still to come, of known length or chunked. I/O thread only.
class RequestBody {
 public:
  // For the request of `head`. A body of known length is at most `body_bytes` long: the caller has
  // looked.
  void Start(const RequestHead& head, uint64_t body_bytes, uint64_t header_bytes,
             const ChunkedBody::Sink& sink);

  // As ChunkedBody::Read, for both kinds. Not after kComplete or an error.
  ChunkedBody::Result Read(std::string_view bytes, size_t room, const ChunkedBody::Sink& sink,
                           size_t* consumed);

  bool complete() const { return complete_; }
  // Null when the body was not chunked.
  const ChunkedBody* chunked() const { return chunked_.get(); }
  // Nothing more is expected.
  void Clear();

 private:
  uint64_t left_ = 0;
  std::unique_ptr<ChunkedBody> chunked_;
  bool complete_ = true;
};

}  // namespace cohost::worker
