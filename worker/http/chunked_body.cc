// SPDX-License-Identifier: Apache-2.0
#include "worker/http/chunked_body.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <boost/beast/http/basic_parser.hpp>

#include "worker/http/http_text.h"

namespace cohost::worker {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// Extensions mean nothing to us: what is longer is an attack on whoever keeps them.
constexpr size_t kLongestExtension = 256;
constexpr size_t kLongestExtensionsTogether = 16 << 10;
// Size, extension, CR LF, and the CR LF of the chunk before.
constexpr size_t kLongestChunkLine = 512;

// Beast's chunk decoder belongs to its message parser; this head brings it to the body.
constexpr std::string_view kHead = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace

class ChunkedBody::Parser final : public http::basic_parser<true> {
 public:
  Parser(uint64_t body_bytes, uint64_t header_bytes, Sink sink)
      : body_left_(body_bytes), header_bytes_(header_bytes), sink_(std::move(sink)) {
    body_limit(boost::none);
    beast::error_code error;
    put(boost::asio::const_buffer(kHead.data(), kHead.size()), error);
    trailers_.clear();
  }

  Result Read(std::string_view bytes, size_t room, size_t* consumed);

  const std::vector<std::pair<std::string, std::string>>& trailers() const { return trailers_; }

 private:
  Result CheckUnfinishedLine(std::string_view bytes) const;

  void on_chunk_header_impl(std::uint64_t size, beast::string_view extensions,
                            beast::error_code& error) override {
    extension_bytes_ += extensions.size();
    if (extensions.size() > kLongestExtension || extension_bytes_ > kLongestExtensionsTogether) {
      error = http::error::bad_chunk_extension;
      return;
    }
    if (size > body_left_) {
      error = http::error::body_limit;
      return;
    }
    body_left_ -= size;
    chunk_left_ = size;
    after_chunk_ = true;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body,
                                 beast::error_code&) override {
    chunk_left_ -= body.size();
    sink_({body.data(), body.size()});
    return body.size();
  }
  void on_field_impl(http::field field, beast::string_view name, beast::string_view value,
                     beast::error_code& error) override {
    // Folded: Beast joins the lines elsewhere, or steps over the line's end.
    const char* const name_end = name.data() + name.size();
    if (reading_.data() != nullptr &&
        (value.data() < name_end || value.data() > reading_.data() + reading_.size() ||
         std::memchr(name_end, '\r', static_cast<size_t>(value.data() - name_end)) != nullptr)) {
      error = http::error::bad_value;
      return;
    }
    const std::string_view text(name.data(), name.size());
    if (IsHostField(text) || field == http::field::host) return;
    trailers_.emplace_back(text, std::string_view(value.data(), value.size()));
  }
  void on_request_impl(http::verb, beast::string_view, beast::string_view, int,
                       beast::error_code&) override {}
  void on_response_impl(int, beast::string_view, int, beast::error_code&) override {}
  void on_header_impl(beast::error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, beast::error_code&) override {}
  std::size_t on_body_impl(beast::string_view, beast::error_code&) override { return 0; }
  void on_finish_impl(beast::error_code&) override {}

  uint64_t body_left_;
  const uint64_t header_bytes_;
  const Sink sink_;
  std::string_view reading_;
  uint64_t chunk_left_ = 0;
  size_t extension_bytes_ = 0;
  bool after_chunk_ = false;  // the next line begins with the CR LF behind a chunk
  std::vector<std::pair<std::string, std::string>> trailers_;
};

ChunkedBody::Result ChunkedBody::Parser::Read(std::string_view bytes, size_t room,
                                              size_t* consumed) {
  *consumed = 0;
  while (!bytes.empty()) {
    if (chunk_left_ > 0 && room == 0) return Result::kMore;
    // "0", CR LF, CR LF is the least that is to come; Beast asserts it when it looks again.
    if (chunk_left_ == 0 && bytes.size() < 5) return CheckUnfinishedLine(bytes);
    reading_ = chunk_left_ > 0 ? bytes.substr(0, room) : bytes;
    const uint64_t chunk_before = chunk_left_;
    beast::error_code error;
    const size_t n = put(boost::asio::const_buffer(reading_.data(), reading_.size()), error);
    if (chunk_before > 0) room -= n;
    *consumed += n;
    bytes.remove_prefix(n);
    if (error == http::error::need_more) return CheckUnfinishedLine(bytes);
    if (error == http::error::body_limit) return Result::kTooLarge;
    if (error) return Result::kMalformed;
    if (is_done()) return Result::kComplete;
  }
  return Result::kMore;
}

ChunkedBody::Result ChunkedBody::Parser::CheckUnfinishedLine(std::string_view bytes) const {
  if (bytes.size() > header_bytes_ + kLongestChunkLine) return Result::kMalformed;
  // The line of a last chunk is kept by Beast until the trailers after it are whole. What cannot
  // become a chunk line is refused now and not when the client's time is over.
  if (after_chunk_ && !std::string_view("\r\n").starts_with(bytes.substr(0, 2))) {
    return Result::kMalformed;
  }
  const std::string_view line = bytes.substr(after_chunk_ ? std::min<size_t>(2, bytes.size()) : 0);
  const size_t digits = std::min(line.find_first_not_of("0123456789abcdefABCDEF"), line.size());
  if (digits == line.size()) return digits > 16 ? Result::kMalformed : Result::kMore;
  if (digits == 0 || std::string_view("\r; \t").find(line[digits]) == std::string_view::npos) {
    return Result::kMalformed;
  }
  const bool whole = line.substr(0, kLongestChunkLine).find("\r\n") != std::string_view::npos;
  return whole || line.size() <= kLongestChunkLine ? Result::kMore : Result::kMalformed;
}

ChunkedBody::ChunkedBody(uint64_t body_bytes, uint64_t header_bytes, Sink sink)
    : parser_(std::make_unique<Parser>(body_bytes, header_bytes, std::move(sink))) {}

ChunkedBody::~ChunkedBody() = default;

ChunkedBody::Result ChunkedBody::Read(std::string_view bytes, size_t room, size_t* consumed) {
  return parser_->Read(bytes, room, consumed);
}

const std::vector<std::pair<std::string, std::string>>& ChunkedBody::trailers() const {
  return parser_->trailers();
}

}  // namespace cohost::worker
