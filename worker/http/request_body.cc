// SPDX-License-Identifier: Apache-2.0
#include "worker/http/request_body.h"

#include <algorithm>

namespace cohost::worker {

void RequestBody::Start(const RequestHead& head, uint64_t body_bytes, uint64_t header_bytes,
                        const ChunkedBody::Sink& sink) {
  left_ = head.content_length.value_or(0);
  complete_ = head.content_length == uint64_t{0};
  chunked_.reset();
  if (!head.content_length.has_value()) {
    chunked_ = std::make_unique<ChunkedBody>(body_bytes, header_bytes, sink);
  }
}

ChunkedBody::Result RequestBody::Read(std::string_view bytes, size_t room,
                                      const ChunkedBody::Sink& sink, size_t* consumed) {
  if (chunked_ != nullptr) {
    const auto result = chunked_->Read(bytes, room, consumed);
    complete_ = result == ChunkedBody::Result::kComplete;
    return result;
  }
  *consumed =
      static_cast<size_t>(std::min<uint64_t>({left_, uint64_t{bytes.size()}, uint64_t{room}}));
  if (*consumed > 0) sink(bytes.substr(0, *consumed));
  left_ -= *consumed;
  complete_ = left_ == 0;
  return complete_ ? ChunkedBody::Result::kComplete : ChunkedBody::Result::kMore;
}

void RequestBody::Clear() {
  chunked_.reset();
  left_ = 0;
  complete_ = true;
}

}  // namespace cohost::worker
