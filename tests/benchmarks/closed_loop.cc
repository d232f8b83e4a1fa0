// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/closed_loop.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status.h"
#include "tests/benchmarks/benchmark_report.h"

namespace cohost::benchmarks {
namespace {

constexpr std::string_view kRequest = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::string_view kGood = "HTTP/1.1 200 ";
constexpr std::string_view kLength = "\r\nContent-Length: ";
constexpr std::string_view kChunked = "\r\nTransfer-Encoding: chunked";
constexpr std::string_view kLastChunk = "\r\n0\r\n\r\n";
constexpr int kAnswerLimitMilliseconds = 20'000;

// Size of the answer that begins `text`, 0 while its head is not whole.
size_t AnswerSize(std::string_view text) {
  const size_t head = text.find("\r\n\r\n");
  if (head == std::string_view::npos) return 0;
  const size_t chunked = text.find(kChunked);
  if (text.starts_with(kGood) && chunked < head) {
    // One that ends in the bytes of its last chunk, which a body of text does not have.
    return text.ends_with(kLastChunk) ? text.size() : text.size() + 1;
  }
  const size_t at = text.find(kLength);
  if (!text.starts_with(kGood) || at > head) {
    Fail(absl::StrCat("not an answer with 200 and a length: ", std::string(text.substr(0, head))));
  }
  size_t length = 0;
  std::from_chars(text.data() + at + kLength.size(), text.data() + head, length);
  return head + 4 + length;
}

UniqueFd ConnectTo(uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const int on = 1;
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) {
    Require(ErrnoStatus(errno, "connect", absl::StrCat(port)), "client");
  }
  return socket;
}

}  // namespace

ClosedLoop::ClosedLoop(uint16_t port, int connections)
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), connections_(static_cast<size_t>(connections)) {
  for (Connection& connection : connections_) {
    connection.socket = ConnectTo(port);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &connection;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.socket.get(), &event) != 0) {
      Require(ErrnoStatus(errno, "epoll_ctl", "client"), "client");
    }
  }
}

ClosedLoop::~ClosedLoop() = default;

std::vector<double> ClosedLoop::Run(uint64_t requests) {
  std::vector<double> latencies;
  latencies.reserve(requests);
  uint64_t sent = std::min<uint64_t>(requests, connections_.size());
  for (size_t i = 0; i < sent; ++i) Send(connections_[i]);
  std::array<epoll_event, 64> events;
  while (latencies.size() < requests) {
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 kAnswerLimitMilliseconds);
    if (count == 0) Fail("no answer in time");
    for (int i = 0; i < count; ++i) {
      auto& connection = *static_cast<Connection*>(events[static_cast<size_t>(i)].data.ptr);
      if (!Receive(connection)) continue;
      const int64_t taken = SystemClock().Steady().nanoseconds - connection.sent_ns;
      latencies.push_back(static_cast<double>(taken) / 1e3);
      if (sent == requests) continue;
      ++sent;
      Send(connection);
    }
  }
  return latencies;
}

void ClosedLoop::Send(Connection& connection) {
  connection.sent_ns = SystemClock().Steady().nanoseconds;
  const ssize_t size =
      send(connection.socket.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL);
  // So few bytes always fit into the buffer of a connection whose last request was answered.
  if (size != static_cast<ssize_t>(kRequest.size())) Fail("the server closed a connection");
}

bool ClosedLoop::Receive(Connection& connection) {
  std::array<char, 65536> buffer;
  const ssize_t size = recv(connection.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size <= 0) {
    if (size < 0 && errno == EAGAIN) return false;
    Fail("the server closed a connection");
  }
  connection.received.append(buffer.data(), static_cast<size_t>(size));
  const size_t whole = AnswerSize(connection.received);
  if (whole == 0 || connection.received.size() < whole) return false;
  if (connection.received.size() > whole) Fail("more than the answer came");
  connection.received.clear();
  return true;
}

}  // namespace cohost::benchmarks
