// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/acceptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "gtest/gtest.h"
#include "tests/supervisor/admin/unix_socket.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

class AcceptorTest : public ::testing::Test {
 protected:
  void Start(size_t max_connections = 64) {
    AdminAcceptor::Options options;
    options.max_connections = max_connections;
    options.on_connection = [this](UniqueFd connection, uid_t uid) {
      EXPECT_EQ(uid, ::geteuid());
      numbers_.push_back(connection.get());
      connections_.push_back(std::move(connection));
    };
    options.on_end = [this](int fd) { ended_.push_back(fd); };
    options.on_problem = [this](std::string_view text) { problems_.emplace_back(text); };
    auto acceptor = AdminAcceptor::Start(loop_, testing::ListenOn(path()), std::move(options));
    ASSERT_TRUE(acceptor.ok());
    acceptor_ = *std::move(acceptor);
  }
  std::string path() const { return folder_.path() + "/admin.sock"; }
  UniqueFd Connect() const {
    UniqueFd client = testing::UnixSocket();
    EXPECT_TRUE(testing::ConnectTo(client, path()));
    return client;
  }
  void Poll() {
    loop_.restart();
    loop_.poll();
  }
  [[nodiscard]] bool RunUntil(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(10));
    }
    return true;
  }
  static bool IsClosed(const UniqueFd& client) {
    char byte = 0;
    return ::recv(client.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }

  testing::TemporaryFolder folder_;
  boost::asio::io_context loop_{1};
  std::vector<UniqueFd> connections_;
  std::vector<int> numbers_;
  std::vector<int> ended_;
  std::vector<std::string> problems_;
  std::unique_ptr<AdminAcceptor> acceptor_;
};

TEST_F(AcceptorTest, HandsOverConnectionsThatNeitherBlockNorLeak) {
  Start();
  const UniqueFd client = Connect();
  ASSERT_TRUE(RunUntil([this] { return connections_.size() == 1; }));
  EXPECT_NE(::fcntl(numbers_[0], F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(numbers_[0], F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_EQ(::send(client.get(), "x", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(::recv(numbers_[0], &byte, 1, 0), 1);
}

TEST_F(AcceptorTest, PeersThatVanishMakeRoom) {
  Start(/*max_connections=*/2);
  UniqueFd first = Connect();
  const UniqueFd second = Connect();
  ASSERT_TRUE(RunUntil([this] { return connections_.size() == 2; }));
  EXPECT_TRUE(ended_.empty());
  first.Reset();
  ASSERT_TRUE(RunUntil([this] { return !ended_.empty(); }));
  EXPECT_EQ(ended_, std::vector<int>{numbers_[0]});
  const UniqueFd third = Connect();
  ASSERT_TRUE(RunUntil([this] { return connections_.size() == 3; }));
  EXPECT_FALSE(IsClosed(third));
  EXPECT_TRUE(problems_.empty());
}

TEST_F(AcceptorTest, WhoIsTooManyIsClosedAtOnceAndToldOnce) {
  Start(/*max_connections=*/3);
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(Connect());
  ASSERT_TRUE(RunUntil([&clients] { return IsClosed(clients.back()); }));
  EXPECT_EQ(connections_.size(), 3U);
  for (size_t i = 0; i < clients.size(); ++i) EXPECT_EQ(IsClosed(clients[i]), i >= 3) << i;
  EXPECT_EQ(problems_.size(), 1U);
  EXPECT_EQ(acceptor_->accept_errors(), 0U) << "that is no error of accept";
}

TEST_F(AcceptorTest, APeerThatWasGoneBeforeItWasAcceptedKeepsNoPlace) {
  Start(/*max_connections=*/1);
  for (int i = 0; i < 20; ++i) {
    Connect().Reset();
    ASSERT_TRUE(
        RunUntil([this] { return ended_.size() == connections_.size() && !connections_.empty(); }));
    connections_.clear();
    ended_.clear();
  }
  EXPECT_TRUE(problems_.empty());
}

TEST_F(AcceptorTest, APeerThatOnlyHalfClosesHasNotEnded) {
  Start();
  const UniqueFd client = Connect();
  ASSERT_TRUE(RunUntil([this] { return connections_.size() == 1; }));
  ASSERT_EQ(::shutdown(client.get(), SHUT_WR), 0);
  pollfd readable{numbers_[0], POLLIN, 0};
  ASSERT_EQ(::poll(&readable, 1, 20'000), 1);
  Poll();
  EXPECT_TRUE(ended_.empty()) << "it may still read";
}

TEST_F(AcceptorTest, ShutOnOurSideIsAnEndToo) {
  Start();
  const UniqueFd client = Connect();
  ASSERT_TRUE(RunUntil([this] { return connections_.size() == 1; }));
  // As gRPC ends a connection.
  ASSERT_EQ(::shutdown(numbers_[0], SHUT_RDWR), 0);
  ASSERT_TRUE(RunUntil([this] { return ended_.size() == 1; }));
  connections_.clear();
  EXPECT_TRUE(IsClosed(client)) << "nothing here keeps it open";
}

TEST_F(AcceptorTest, ANumberDoesNotComeBackSoon) {
  Start();
  std::set<int> seen;
  for (int i = 0; i < 200; ++i) {
    connections_.clear();
    numbers_.clear();
    const UniqueFd client = Connect();
    ASSERT_TRUE(RunUntil([this] { return numbers_.size() == 1; }));
    EXPECT_TRUE(seen.insert(numbers_[0]).second) << numbers_[0];
  }
}

TEST_F(AcceptorTest, AfterItsEndNothingIsTold) {
  Start();
  UniqueFd client = Connect();
  ASSERT_TRUE(RunUntil([this] { return connections_.size() == 1; }));
  const UniqueFd late = Connect();
  acceptor_.reset();
  client.Reset();
  Poll();
  EXPECT_TRUE(ended_.empty());
  EXPECT_EQ(connections_.size(), 1U);
}

TEST_F(AcceptorTest, AListenerThatBlocksOrIsNoneIsRefused) {
  UniqueFd blocking = testing::ListenOn(path());
  ASSERT_EQ(::fcntl(blocking.get(), F_SETFL, 0), 0);
  EXPECT_EQ(AdminAcceptor::Start(loop_, std::move(blocking), {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(AdminAcceptor::Start(loop_, UniqueFd(), {}).ok());
}

}  // namespace
}  // namespace cohost::supervisor
