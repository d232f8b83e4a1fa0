// SPDX-License-Identifier: Apache-2.0
#include "worker/services/local_request.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>

#include "base/system/seqpacket.h"
#include "gtest/gtest.h"

namespace cohost::worker {
namespace {

// A request whose server is the test.
class LocalRequestTest : public ::testing::Test {
 protected:
  void Begin(const std::string& target, absl::Duration timeout) {
    absl::StatusOr<SocketPair> pair = MakeStreamPair();
    ASSERT_TRUE(pair.ok());
    server_ = std::move(pair->first);
    request_ = std::make_unique<LocalRequest>(
        io_, std::move(pair->second), target, timeout,
        [this](absl::StatusOr<int> code) { result_ = std::move(code); });
  }
  void Answer(const std::string& bytes) {
    ASSERT_EQ(::send(server_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  void RunUntilResult() {
    while (!result_.has_value() && io_.run_one() > 0) {
    }
    ASSERT_TRUE(result_.has_value());
  }

  boost::asio::io_context io_;
  UniqueFd server_;
  std::unique_ptr<LocalRequest> request_;
  std::optional<absl::StatusOr<int>> result_;
};

TEST_F(LocalRequestTest, SendsACompleteRequestAndReadsTheStatus) {
  Begin("/a?b=c", absl::Hours(1));
  Answer("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
  ASSERT_EQ(::shutdown(server_.get(), SHUT_WR), 0);
  RunUntilResult();
  EXPECT_EQ(result_->value(), 204);
  std::array<char, 1024> buffer;
  const ssize_t size = ::recv(server_.get(), buffer.data(), buffer.size(), 0);
  ASSERT_GT(size, 0);
  const std::string sent(buffer.data(), static_cast<size_t>(size));
  EXPECT_EQ(sent.rfind("GET /a?b=c HTTP/1.1\r\nHost: ", 0), 0U) << sent;
  EXPECT_EQ(sent.substr(sent.size() - 4), "\r\n\r\n");
}

TEST_F(LocalRequestTest, ReadsALongAnswerToItsEnd) {
  Begin("/", absl::Hours(1));
  // The status in two parts, and more body than one read takes.
  Answer("HTTP/1");
  io_.poll();
  Answer(".1 503 Busy\r\n\r\n" + std::string(50000, 'x'));
  io_.poll();
  EXPECT_FALSE(result_.has_value());
  ASSERT_EQ(::shutdown(server_.get(), SHUT_WR), 0);
  RunUntilResult();
  EXPECT_EQ(result_->value(), 503);
}

TEST_F(LocalRequestTest, EndsAtItsTimeout) {
  Begin("/", absl::Milliseconds(1));
  Answer("HTTP/1.1 200 OK\r\n\r\n");
  RunUntilResult();
  EXPECT_TRUE(absl::IsDeadlineExceeded(result_->status()));
}

TEST_F(LocalRequestTest, SaysWhenThereWasNoAnswer) {
  Begin("/", absl::Hours(1));
  ASSERT_EQ(::shutdown(server_.get(), SHUT_WR), 0);
  RunUntilResult();
  EXPECT_TRUE(absl::IsUnavailable(result_->status()));
}

TEST_F(LocalRequestTest, RefusesBytesThatAreNoHttp) {
  for (const std::string bytes : {"SSH-2.0-OpenSSH_9.2", "HTTP/1.1 2x4 Odd\r\n", "HTTP/1.1"}) {
    result_.reset();
    Begin("/", absl::Hours(1));
    Answer(bytes);
    ASSERT_EQ(::shutdown(server_.get(), SHUT_WR), 0);
    RunUntilResult();
    EXPECT_FALSE(result_->ok()) << bytes;
  }
}

TEST_F(LocalRequestTest, CallsNothingAfterItsDestruction) {
  Begin("/", absl::ZeroDuration());
  request_.reset();
  io_.run();
  EXPECT_FALSE(result_.has_value());
}

TEST(IsLocalTarget, TakesPathsOnly) {
  EXPECT_TRUE(IsLocalTarget("/"));
  EXPECT_TRUE(IsLocalTarget("/items/1?q=%20"));
  for (const std::string target : {"", "items", "http://x/", "/a b", "/a\r\nHost: x", "/\x7f"}) {
    EXPECT_FALSE(IsLocalTarget(target)) << target;
  }
  EXPECT_FALSE(IsLocalTarget("/" + std::string(5000, 'a')));
}

}  // namespace
}  // namespace cohost::worker
