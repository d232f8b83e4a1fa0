// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/scrape_session.h"

#include <sys/socket.h>

#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/write.hpp>

#include "absl/time/time.h"

namespace cohost::supervisor {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using Protocol = boost::asio::generic::stream_protocol;
using Body = http::span_body<const char>;

constexpr size_t kLargestHead = 8192;
constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kMetrics = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view kIndex =
    "<!doctype html>\n<html lang=\"en\"><head><title>Cohost</title></head>\n"
    "<body><h1>Cohost</h1><p><a href=\"/metrics\">Metrics</a> for Prometheus.</p></body></html>\n";

std::string_view AsStd(beast::string_view text) { return {text.data(), text.size()}; }
beast::string_view AsBeast(std::string_view text) { return {text.data(), text.size()}; }

std::shared_ptr<const std::string> Text(std::string_view text) {
  return std::make_shared<const std::string>(text);
}

}  // namespace

class ScrapeSession::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::io_context& loop, Options options)
      : options_(std::move(options)), stream_(loop) {}

  bool Assign(UniqueFd connection) {
    int family = AF_UNIX;
    socklen_t size = sizeof(family);
    if (::getsockopt(connection.get(), SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) return false;
    beast::error_code error;
    stream_.socket().assign(Protocol(family, 0), connection.get(), error);
    if (error) return false;
    connection.Release();
    return true;
  }

  void Read(absl::Duration limit) {
    parser_.emplace();
    parser_->header_limit(kLargestHead);
    // empty_body refuses a request that brings one.
    stream_.expires_after(absl::ToChronoNanoseconds(limit));
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](beast::error_code error, size_t) { self->Respond(error); });
  }

  void End() { options_.on_end(); }

 private:
  void Respond(beast::error_code error) {
    // A client that went away, was too slow or half closed gets no answer.
    if (error == http::error::end_of_stream || error == http::error::partial_message ||
        (error && error.category() != http::make_error_code(http::error::bad_target).category())) {
      return End();
    }
    if (error) {
      keep_alive_ = false;
      head_ = false;
      return Write(http::status::bad_request, kText, Text("bad request\n"));
    }
    const auto& request = parser_->get();
    keep_alive_ = request.keep_alive();
    head_ = request.method() == http::verb::head;
    if (request.method() != http::verb::get && !head_) {
      return Write(http::status::method_not_allowed, kText, Text("only GET and HEAD\n"));
    }
    const std::string_view target = AsStd(request.target());
    const std::string_view path = target.substr(0, target.find('?'));
    if (path == "/metrics") return Write(http::status::ok, kMetrics, options_.page());
    if (path == "/") return Write(http::status::ok, kHtml, Text(kIndex));
    Write(http::status::not_found, kText, Text("not found; metrics are at /metrics\n"));
  }

  void Write(http::status status, std::string_view type, std::shared_ptr<const std::string> body) {
    body_ = std::move(body);
    response_.emplace();
    response_->version(11);
    response_->result(status);
    response_->set(http::field::content_type, AsBeast(type));
    if (status == http::status::method_not_allowed) {
      response_->set(http::field::allow, "GET, HEAD");
    }
    response_->keep_alive(keep_alive_);
    response_->content_length(body_->size());
    response_->body() = beast::span<const char>(body_->data(), body_->size());
    serializer_.emplace(*response_);
    stream_.expires_after(absl::ToChronoNanoseconds(options_.io_timeout));
    auto done = [self = shared_from_this()](beast::error_code error, size_t) {
      self->Written(error);
    };
    if (head_) {
      http::async_write_header(stream_, *serializer_, std::move(done));
    } else {
      http::async_write(stream_, *serializer_, std::move(done));
    }
  }

  void Written(beast::error_code error) {
    if (error || !keep_alive_) {
      // Ignoring the error: the socket is closed next.
      stream_.socket().shutdown(Protocol::socket::shutdown_send, error);
      return End();
    }
    Read(options_.idle_timeout);
  }

  const Options options_;
  beast::basic_stream<Protocol> stream_;
  // One head and what a pipelining client sends after it.
  beast::flat_buffer buffer_{2 * kLargestHead};
  std::optional<http::request_parser<http::empty_body>> parser_;
  // Of the answer being written.
  bool keep_alive_ = false;
  bool head_ = false;
  std::shared_ptr<const std::string> body_;
  std::optional<http::response<Body>> response_;
  std::optional<http::response_serializer<Body>> serializer_;
};

void ScrapeSession::Start(boost::asio::io_context& loop, UniqueFd connection, Options options) {
  const absl::Duration first = options.io_timeout;
  auto session = std::make_shared<Connection>(loop, std::move(options));
  if (session->Assign(std::move(connection))) {
    session->Read(first);
  } else {
    session->End();
  }
}

}  // namespace cohost::supervisor
