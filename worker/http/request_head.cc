// SPDX-License-Identifier: Apache-2.0
#include "worker/http/request_head.h"

#include <cstring>
#include <limits>

#include <boost/beast/http/basic_parser.hpp>

#include "worker/http/http_text.h"

namespace cohost::worker {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

// Beast reads the grammar; this class refuses what Beast lets pass and HTTP leaves ambiguous.
class HeadParser final : public http::basic_parser<true> {
 public:
  HeadParser(std::string_view bytes, RequestHead& head) : bytes_(bytes), head_(head) {
    header_limit(std::numeric_limits<std::uint32_t>::max());
    body_limit(boost::none);
  }

  uint32_t Parse();

 private:
  void on_request_impl(http::verb verb, beast::string_view method, beast::string_view target,
                       int version, beast::error_code&) override {
    head_.method = View(method);
    head_.target = View(target);
    head_.http_1_0 = version == 10;
    // No tunnels, and no echo of what the client sent (credentials among it).
    if (verb == http::verb::connect || verb == http::verb::trace) Refuse(501);
  }

  void on_field_impl(http::field field, beast::string_view raw_name, beast::string_view raw_value,
                     beast::error_code&) override {
    const std::string_view name = View(raw_name);
    const std::string_view value = View(raw_value);
    if (IsFolded(name, value)) Refuse(400);
    // Others of the enumeration need no look here.
    if (field == http::field::host) {
      if (host_ != kNone || !IsHost(value)) Refuse(400);
      host_ = head_.headers.size();
    } else if (field == http::field::content_length) {
      ReadContentLength(value);
    } else if (field == http::field::transfer_encoding) {
      if (chunked_) Refuse(400);
      if (!EqualsIgnoringCase(value, "chunked")) {
        Refuse(ContainsIgnoringCase(value, "chunked") ? 400 : 501);
      }
      chunked_ = true;
    } else if (field == http::field::expect) {
      if (!EqualsIgnoringCase(value, "100-continue")) Refuse(417);
      head_.expects_continue = true;
    }
    head_.headers.push_back({name, value});
  }

  // obs-fold: Beast joins the lines in a buffer of its own, or steps over the line's end.
  bool IsFolded(std::string_view name, std::string_view value) const {
    const char* const name_end = name.data() + name.size();
    if (value.data() < name_end || value.data() > bytes_.data() + bytes_.size()) return true;
    const auto gap = static_cast<size_t>(value.data() - name_end);
    return std::memchr(name_end, '\r', gap) != nullptr;
  }

  void ReadContentLength(std::string_view value) {
    // Beast has refused what does not fit into 64 bits; a list is refused here, equal or not.
    if (length_.has_value() || value.empty()) return Refuse(400);
    uint64_t length = 0;
    for (const char c : value) {
      if (c < '0' || c > '9') return Refuse(400);
      length = length * 10 + static_cast<uint64_t>(c - '0');
    }
    length_ = length;
  }

  void Refuse(uint32_t status) {
    if (refusal_ == 0) refusal_ = status;
  }

  uint32_t CheckTarget();
  uint32_t ReduceAbsoluteForm(std::string_view rest);
  uint32_t StatusOfBadVersion() const;

  void on_header_impl(beast::error_code&) override {}
  void on_response_impl(int, beast::string_view, int, beast::error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, beast::error_code&) override {}
  std::size_t on_body_impl(beast::string_view, beast::error_code&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, beast::error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view, beast::error_code&) override {
    return 0;
  }
  void on_finish_impl(beast::error_code&) override {}

  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  const std::string_view bytes_;
  RequestHead& head_;
  size_t host_ = kNone;  // its position among the headers
  std::optional<uint64_t> length_;
  bool chunked_ = false;
  uint32_t refusal_ = 0;
};

uint32_t HeadParser::Parse() {
  beast::error_code error;
  put(boost::asio::const_buffer(bytes_.data(), bytes_.size()), error);
  if (error == http::error::bad_version) return StatusOfBadVersion();
  if (error) return 400;
  if (refusal_ != 0) return refusal_;
  if (chunked_ && (length_.has_value() || head_.http_1_0)) return 400;
  if (host_ == kNone && !head_.http_1_0) return 400;
  if (head_.http_1_0) head_.expects_continue = false;
  head_.content_length = chunked_ ? std::nullopt : std::optional<uint64_t>(length_.value_or(0));
  if (head_.content_length == uint64_t{0}) head_.expects_continue = false;
  head_.keep_alive = keep_alive();
  return CheckTarget();
}

uint32_t HeadParser::CheckTarget() {
  const std::string_view target = head_.target;
  if (target == "*") return head_.method == "OPTIONS" ? 0 : 400;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (EqualsIgnoringCase(target.substr(0, scheme.size()), scheme)) {
      return ReduceAbsoluteForm(target.substr(scheme.size()));
    }
  }
  return IsOriginForm(target) ? 0 : 400;
}

uint32_t HeadParser::ReduceAbsoluteForm(std::string_view rest) {
  const size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  if (authority.empty() || !IsHost(authority)) return 400;
  std::string_view path = rest.substr(end);
  if (path.empty()) {
    path = head_.method == "OPTIONS" ? "*" : "/";
  } else if (path.front() == '?') {
    head_.rewritten.assign("/").append(path);
    path = head_.rewritten;
  }
  if (path != "*" && !IsOriginForm(path)) return 400;
  head_.target = path;
  // RFC 9112 3.2.2: the authority of the target counts, not the Host field.
  if (host_ != kNone) head_.headers[host_].value = authority;
  return 0;
}

uint32_t HeadParser::StatusOfBadVersion() const {
  const std::string_view line = bytes_.substr(0, bytes_.find('\r'));
  if (line.size() < 8) return 400;
  const std::string_view version = line.substr(line.size() - 8);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool well_formed =
      version.starts_with("HTTP/") && digit(version[5]) && version[6] == '.' && digit(version[7]);
  return well_formed && version != "HTTP/1.1" && version != "HTTP/1.0" ? 505 : 400;
}

}  // namespace

HeadScanner::Result HeadScanner::Scan(std::string_view bytes) {
  for (;;) {
    const size_t newline = bytes.find('\n', scanned_);
    if (newline == std::string_view::npos) {
      scanned_ = bytes.size();
      return Result::kMore;
    }
    scanned_ = newline + 1;
    if (newline == line_start_ || bytes[newline - 1] != '\r') return Result::kMalformed;
    if (newline - 1 == line_start_) return Result::kComplete;
    line_start_ = scanned_;
  }
}

uint32_t ParseRequestHead(std::string_view bytes, RequestHead& head) {
  head.headers.clear();
  head.rewritten.clear();
  head.method = {};
  head.target = {};
  head.content_length = 0;
  head.http_1_0 = head.keep_alive = head.expects_continue = false;
  return HeadParser(bytes, head).Parse();
}

}  // namespace cohost::worker
