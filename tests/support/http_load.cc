// SPDX-License-Identifier: Apache-2.0
#include "tests/support/http_load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cohost::testing {
namespace {

constexpr absl::Duration kAnswerLimit = absl::Seconds(10);

struct Connection {
  UniqueFd socket;
  uint16_t port = 0;
  bool connecting = false;
  bool waiting = false;  // for an answer
  uint64_t answers = 0;
  SteadyTime asked;
  std::string received;
};

// Length of the whole answer at the front of `text`: 0 not there yet, -1 malformed.
int64_t WholeAnswer(const std::string& text) {
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return text.size() > 65536 ? -1 : 0;
  if (text.compare(0, 9, "HTTP/1.1 ") != 0) return -1;
  const size_t at = text.find("Content-Length: ");
  if (at == std::string::npos || at > end) return -1;
  const int64_t size = std::strtoll(text.c_str() + at + 16, nullptr, 10);
  const int64_t whole = static_cast<int64_t>(end) + 4 + size;
  return static_cast<int64_t>(text.size()) >= whole ? whole : 0;
}

}  // namespace

class HttpLoad::Runner {
 public:
  Runner(Options options, std::atomic<uint64_t>& answered, std::atomic<bool>& stopping)
      : options_(std::move(options)),
        answered_(answered),
        stopping_(stopping),
        connections_(static_cast<size_t>(options_.connections)) {
    for (size_t i = 0; i < connections_.size(); ++i) {
      connections_[i].port = options_.ports[i % options_.ports.size()];
    }
    request_ = absl::StrCat("GET ", options_.target, " HTTP/1.1\r\nHost: localhost\r\n",
                            options_.keep_alive ? "" : "Connection: close\r\n", "\r\n");
  }

  void Run() {
    const SteadyTime begin = SystemClock().Steady();
    for (const uint16_t port : options_.ports) last_answer_[port] = begin;
    uint64_t asked = 0;
    while (true) {
      const SteadyTime now = SystemClock().Steady();
      const bool stopping = stopping_.load();
      const auto due = static_cast<uint64_t>(absl::ToDoubleSeconds(now - begin) * options_.rate);
      while (!stopping && asked < due && AskNext(now)) ++asked;
      // A client that cannot keep up does not save up a burst.
      if (due > asked + connections_.size()) asked = due - connections_.size();
      if (!Wait() && stopping) return;
    }
  }

  LoadReport report;

 private:
  // False when every connection is waiting.
  bool AskNext(SteadyTime now) {
    for (size_t i = 0; i < connections_.size(); ++i) {
      Connection& connection = connections_[next_++ % connections_.size()];
      if (connection.waiting) continue;
      connection.waiting = true;
      connection.asked = now;
      if (!connection.socket.valid()) {
        Connect(connection);
      } else {
        Ask(connection);
      }
      return true;
    }
    return false;
  }

  void Connect(Connection& connection) {
    connection.socket.Reset(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    connection.answers = 0;
    connection.received.clear();
    ++report.connections;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(connection.port);
    const int result =
        connect(connection.socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
    if (result == 0) return Ask(connection);
    if (errno == EINPROGRESS) {
      connection.connecting = true;
    } else {
      Fail(connection, report.refused, absl::StrCat("connect: ", strerror(errno)));
    }
  }

  void Ask(Connection& connection) {
    connection.connecting = false;
    const int on = 1;
    setsockopt(connection.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const ssize_t sent =
        send(connection.socket.get(), request_.data(), request_.size(), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(request_.size())) return;
    Cut(connection, absl::StrCat("send: ", strerror(errno)));
  }

  void Fail(Connection& connection, uint64_t& counter, const std::string& what) {
    ++counter;
    if (report.first_failure.empty()) {
      report.first_failure = absl::StrCat("port ", connection.port, ", answer ",
                                          connection.answers + 1, " of its connection: ", what);
    }
    connection.socket.Reset();
    connection.connecting = connection.waiting = false;
  }

  void Cut(Connection& connection, const std::string& what) {
    Fail(connection, connection.answers == 0 ? report.cut_new : report.cut_in_flight, what);
  }

  // False when nobody is waiting for an answer.
  bool Wait() {
    std::vector<pollfd> polled;
    std::vector<Connection*> owners;
    bool any_waiting = false;
    for (Connection& connection : connections_) {
      if (!connection.socket.valid()) continue;
      any_waiting = any_waiting || connection.waiting;
      const short events = connection.connecting ? POLLOUT : POLLIN;
      polled.push_back({connection.socket.get(), events, 0});
      owners.push_back(&connection);
    }
    poll(polled.data(), polled.size(), 1);
    const SteadyTime now = SystemClock().Steady();
    for (size_t i = 0; i < polled.size(); ++i) {
      Connection& connection = *owners[i];
      if (polled[i].revents != 0) {
        Advance(connection, now);
      } else if (connection.waiting && now - connection.asked > kAnswerLimit) {
        Fail(connection, report.timed_out, "no answer");
      }
    }
    return any_waiting;
  }

  void Advance(Connection& connection, SteadyTime now) {
    if (connection.connecting) {
      int error = 0;
      socklen_t size = sizeof(error);
      getsockopt(connection.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error == 0) return Ask(connection);
      return Fail(connection, report.refused, absl::StrCat("connect: ", strerror(error)));
    }
    char buffer[16384];
    const ssize_t count = recv(connection.socket.get(), buffer, sizeof(buffer), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      if (connection.waiting) return Cut(connection, count == 0 ? "closed" : strerror(errno));
      ++report.closed_idle;
      connection.socket.Reset();
      return;
    }
    connection.received.append(buffer, static_cast<size_t>(count));
    const int64_t whole = WholeAnswer(connection.received);
    if (whole == 0) return;
    if (whole < 0 || whole != static_cast<int64_t>(connection.received.size()) ||
        !connection.waiting) {
      return Fail(connection, report.malformed, connection.received.substr(0, 200));
    }
    Finish(connection, now);
  }

  void Finish(Connection& connection, SteadyTime now) {
    if (connection.received.compare(9, 3, "200") != 0) {
      return Fail(connection, report.other_status, connection.received.substr(0, 200));
    }
    report.longest_gap = std::max(report.longest_gap, now - last_answer_[connection.port]);
    last_answer_[connection.port] = now;
    ++report.answered;
    answered_.store(report.answered);
    ++connection.answers;
    const bool closes = connection.received.find("Connection: close") != std::string::npos;
    connection.received.clear();
    connection.waiting = false;
    if (closes) connection.socket.Reset();
  }

  const Options options_;
  std::atomic<uint64_t>& answered_;
  std::atomic<bool>& stopping_;
  std::string request_;
  std::vector<Connection> connections_;
  std::map<uint16_t, SteadyTime> last_answer_;
  size_t next_ = 0;
};

HttpLoad::HttpLoad(Options options)
    : runner_(std::make_unique<Runner>(std::move(options), answered_, stopping_)),
      thread_([this] { runner_->Run(); }) {}

HttpLoad::~HttpLoad() { (void)Stop(); }

LoadReport HttpLoad::Stop() {
  stopping_.store(true);
  if (thread_.joinable()) thread_.join();
  return runner_->report;
}

}  // namespace cohost::testing
