// SPDX-License-Identifier: Apache-2.0
//
// The peer of the hello benchmark: the asynchronous HTTP loop of Beast's own examples on one
// thread, with nothing around it: no limits, no time-outs, no counters. Keep-alive, one request at
// a time on a connection, the answer of tests/services/hello.so with the same headers. Prints its
// port on standard output and runs until it is killed.
#include <time.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using beast::error_code;

// Made once a second, as every server does.
const std::string& Date() {
  static time_t second = -1;
  static std::string text;
  const time_t now = time(nullptr);
  if (now != second) {
    char buffer[32];
    tm utc{};
    gmtime_r(&now, &utc);
    text.assign(buffer, strftime(buffer, sizeof(buffer), "%a, %d %b %Y %H:%M:%S GMT", &utc));
    second = now;
  }
  return text;
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(tcp::socket socket) : socket_(std::move(socket)) {
    socket_.set_option(tcp::no_delay(true));
  }

  void Read() {
    request_ = {};
    http::async_read(socket_, buffer_, request_,
                     [self = shared_from_this()](error_code error, size_t) {
                       if (!error) self->Answer();
                     });
  }

 private:
  void Answer() {
    response_.emplace(http::status::ok, request_.version());
    response_->set(http::field::date, Date());
    response_->content_length(sizeof("Hello, World!\n") - 1);
    response_->set(http::field::content_type, "text/plain; charset=utf-8");
    response_->body() = "Hello, World!\n";
    response_->keep_alive(request_.keep_alive());
    http::async_write(socket_, *response_, [self = shared_from_this()](error_code error, size_t) {
      if (!error && self->response_->keep_alive()) self->Read();
    });
  }

  tcp::socket socket_;
  beast::flat_buffer buffer_;
  http::request<http::empty_body> request_;
  std::optional<http::response<http::string_body>> response_;
};

void Accept(tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](error_code error, tcp::socket socket) {
    if (!error) std::make_shared<Session>(std::move(socket))->Read();
    Accept(acceptor);
  });
}

}  // namespace

int main() {
  asio::io_context io(/*concurrency_hint=*/1);
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::printf("%d\n", acceptor.local_endpoint().port());
  (void)std::fflush(stdout);
  Accept(acceptor);
  io.run();
}
