// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/http/http_harness.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "tests/support/loop.h"

namespace cohost::worker {

HttpHarness::HttpHarness() {
  HttpServer::Options options;
  options.access_log = [this](const AccessRecord& record) {
    access_log.push_back(std::string(record.method) + " " + std::string(record.target) + " " +
                         std::to_string(record.status) + " " + std::to_string(record.bytes_sent));
  };
  options.room = [this](uint64_t id) { rooms.push_back(id); };
  server = std::make_unique<HttpServer>(io, table, deadlines, inbox, options);
}

HttpHarness::~HttpHarness() {
  server.reset();
  pool.Stop();
  Poll();
}

ServiceEntry& HttpHarness::AddService(Dispatch dispatch, FakeHostedService::Handler handler,
                                      ServiceLimits limits) {
  ServiceDescription description;
  description.id = next_id_++;
  description.name = "service";
  description.limits = limits;
  description.access_log = true;
  ServiceEntry& entry = **table.Add(std::move(description));
  entry.Host(std::make_unique<FakeHostedService>(dispatch, std::move(handler)));
  table.SetState(entry, RowState::kReady);
  return entry;
}

FakeHostedService& HttpHarness::hosted(ServiceEntry& entry) {
  return static_cast<FakeHostedService&>(*entry.hosted());
}

void HttpHarness::Poll() { testing::PollAll(io); }

bool HttpHarness::RunUntil(const std::function<bool()>& condition) {
  return testing::RunUntil(io, condition);
}

void HttpHarness::Advance(absl::Duration duration) {
  clock.Advance(duration);
  deadlines.RunDue();
  Poll();
}

HttpTestClient::HttpTestClient(HttpHarness& harness, ServiceEntry& entry, Arrival arrival)
    : harness_(harness) {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  fd_.Reset(ends[0]);
  if (arrival == Arrival::kAccepted) entry.gate()->Add();
  harness_.server->Serve(UniqueFd(ends[1]), entry, arrival, "unix", /*listener=*/0);
  harness_.Poll();
}

void HttpTestClient::Send(std::string_view bytes) {
  // A server that does not read any more would keep this here: then the rest is not sent.
  for (int stuck = 0; !bytes.empty() && stuck < 100;) {
    const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
      stuck = 0;
    } else if (errno == EAGAIN) {
      ++stuck;
    } else {
      return;
    }
    harness_.Poll();
  }
  harness_.Poll();
}

std::string HttpTestClient::Receive() {
  std::string received;
  std::array<char, 65536> part;
  for (;;) {
    harness_.Poll();
    const ssize_t count = ::recv(fd_.get(), part.data(), part.size(), 0);
    if (count <= 0) return WithoutDates(received);
    received.append(part.data(), static_cast<size_t>(count));
  }
}

std::string HttpTestClient::Ask(std::string_view bytes) {
  Send(bytes);
  return Receive();
}

bool HttpTestClient::closed() {
  harness_.Poll();
  char byte = 0;
  const ssize_t count = ::recv(fd_.get(), &byte, 1, MSG_PEEK);
  return count == 0 || (count < 0 && errno != EAGAIN);
}

void HttpTestClient::CloseWrite() {
  ::shutdown(fd_.get(), SHUT_WR);
  harness_.Poll();
}

std::string WithoutDates(std::string text) {
  static constexpr std::string_view kDate = "\r\nDate: ";
  for (size_t at = 0; (at = text.find(kDate, at)) != std::string::npos;) {
    at += kDate.size();
    text.replace(at, text.find("\r\n", at) - at, "D");
  }
  return text;
}

}  // namespace cohost::worker
