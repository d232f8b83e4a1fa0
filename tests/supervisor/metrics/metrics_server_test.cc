// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/metrics_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <chrono>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/host_control.h"

namespace cohost::supervisor {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class MetricsServerTest : public testing::Test {
 protected:
  MetricsServerTest()
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address_), sizeof(address_)), 0);
    EXPECT_EQ(::listen(listener_.get(), 128), 0);
    socklen_t size = sizeof(address_);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }

  void Start(MetricsServerOptions options = {}, HostSnapshot host = SampleHost()) {
    auto snapshot = std::make_shared<const HostSnapshot>(std::move(host));
    UniqueFd duplicate(::fcntl(listener_.get(), F_DUPFD_CLOEXEC, 0));
    auto server = MetricsServer::Start([snapshot] { return snapshot; }, std::move(duplicate),
                                       std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  UniqueFd Connect() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit = {20, 0};
    EXPECT_EQ(::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address_), sizeof(address_)), 0);
    return fd;
  }
  static void Send(const UniqueFd& fd, const std::string& text) {
    EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // All until the server closes.
  static std::string ReadAll(const UniqueFd& fd) {
    std::string all;
    char block[65536];
    for (ssize_t n = 0; (n = ::recv(fd.get(), block, sizeof(block), 0)) > 0;) {
      all.append(block, static_cast<size_t>(n));
    }
    return all;
  }
  // The answer of one request on a connection of its own.
  std::string Ask(const std::string& method, const std::string& target) {
    const UniqueFd fd = Connect();
    Send(fd, method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    return ReadAll(fd);
  }

  UniqueFd listener_;
  sockaddr_in address_{};
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsServerTest, ServesThePageAndALinkToIt) {
  Start();
  const std::string answer = Ask("GET", "/metrics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("\ncohost_service_ready{service=\"catalog\"} 1\n"));
  EXPECT_THAT(Ask("GET", "/metrics?name=x"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Ask("GET", "/"), HasSubstr("href=\"/metrics\""));
}

TEST_F(MetricsServerTest, HeadHasTheLengthAndNoBody) {
  Start();
  const std::string answer = Ask("HEAD", "/metrics");
  EXPECT_THAT(answer, HasSubstr("Content-Length: "));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("cohost_")));
}

TEST_F(MetricsServerTest, RefusesEverythingElse) {
  Start();
  EXPECT_THAT(Ask("GET", "/secret"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("DELETE", "/metrics"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask("DELETE", "/metrics"), HasSubstr("Allow: GET, HEAD\r\n"));
}

TEST_F(MetricsServerTest, HostileRequestsAreEndedAndTheNextIsServed) {
  Start();
  for (const std::string& request :
       {std::string("\x16\x03\x01\x02\x00 TLS hello\r\n\r\n"), std::string("GET\r\n\r\n"),
        "GET /metrics HTTP/1.1\r\nX: " + std::string(20000, 'x') + "\r\n\r\n",
        std::string("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"),
        std::string("GET / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n")}) {
    const UniqueFd fd = Connect();
    Send(fd, request);
    EXPECT_THAT(ReadAll(fd), Not(HasSubstr(" 200 "))) << request.substr(0, 40);
  }
  EXPECT_THAT(Ask("GET", "/metrics"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(MetricsServerTest, KeepsAConnectionAndAnswersPipelinedRequests) {
  Start();
  const UniqueFd fd = Connect();
  Send(fd,
       "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /no HTTP/1.1\r\nHost: x\r\n\r\n"
       "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answers = ReadAll(fd);
  EXPECT_THAT(answers, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answers, HasSubstr("HTTP/1.1 404 "));
  EXPECT_EQ(answers.find("HTTP/1.1 200 ") == answers.rfind("HTTP/1.1 200 "), false);
}

TEST_F(MetricsServerTest, AClientThatSendsNothingIsEndedInTime) {
  MetricsServerOptions options;
  options.io_timeout = absl::Milliseconds(200);
  Start(std::move(options));
  const UniqueFd silent = Connect();
  const UniqueFd slow = Connect();
  Send(slow, "GET /metr");
  EXPECT_EQ(ReadAll(silent), "");
  EXPECT_EQ(ReadAll(slow), "");
}

TEST_F(MetricsServerTest, AClientThatDoesNotReadIsCutAndCostsOthersNothing) {
  // Taken over by accepted connections, so that the kernel cannot take a whole page.
  const int small = 4096;
  ASSERT_EQ(::setsockopt(listener_.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
  ASSERT_EQ(::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
  MetricsServerOptions options;
  options.io_timeout = absl::Seconds(1);
  options.max_connections = 2;
  Start(std::move(options), LargeHost(500));
  const UniqueFd first = Connect();
  Send(first, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(Ask("GET", "/"), StartsWith("HTTP/1.1 200 "));
  const UniqueFd second = Connect();
  Send(second, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  // With both places taken, the next is served when one of them was cut.
  EXPECT_THAT(Ask("GET", "/"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(ReadAll(first).find("cohost_module_metric_conflicts"), std::string::npos);
}

TEST_F(MetricsServerTest, ConnectionsAboveTheLimitWaitForRoom) {
  MetricsServerOptions options;
  options.max_connections = 2;
  Start(std::move(options));
  UniqueFd first = Connect();
  const UniqueFd second = Connect();
  for (const UniqueFd* fd : {static_cast<const UniqueFd*>(&first), &second}) {
    Send(*fd, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
    char byte = 0;
    ASSERT_EQ(::recv(fd->get(), &byte, 1, 0), 1);
  }
  const UniqueFd third = Connect();
  Send(third, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  first.Reset();
  EXPECT_THAT(ReadAll(third), StartsWith("HTTP/1.1 200 "));
}

TEST_F(MetricsServerTest, ItsEndLeavesTheListenerToTheNext) {
  Start();
  server_ = nullptr;
  const UniqueFd waiting = Connect();
  Send(waiting, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  Start();
  EXPECT_THAT(ReadAll(waiting), StartsWith("HTTP/1.1 200 "));
}

TEST_F(MetricsServerTest, ABlockingListenerIsRefused) {
  UniqueFd blocking(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto server = MetricsServer::Start([] { return std::make_shared<const HostSnapshot>(); },
                                           std::move(blocking), {});
  EXPECT_EQ(server.status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace cohost::supervisor
