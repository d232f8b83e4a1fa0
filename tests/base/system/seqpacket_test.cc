// SPDX-License-Identifier: Apache-2.0
#include "base/system/seqpacket.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "gtest/gtest.h"

namespace cohost {
namespace {

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator begin("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin, std::filesystem::directory_iterator()));
}

class Seqpacket : public ::testing::Test {
 protected:
  void SetUp() override {
    auto pair = MakeSeqpacketPair();
    ASSERT_TRUE(pair.ok());
    pair_ = *std::move(pair);
  }
  int a() const { return pair_.first.get(); }
  int b() const { return pair_.second.get(); }
  SocketPair pair_;
};

TEST_F(Seqpacket, EndsAreNonBlockingAndCloseOnExec) {
  const auto streams = MakeStreamPair();
  ASSERT_TRUE(streams.ok());
  for (const int fd : {a(), b(), streams->first.get(), streams->second.get()}) {
    EXPECT_NE(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
  }
}

TEST_F(Seqpacket, KeepsMessagesApart) {
  ASSERT_TRUE(SendMessage(a(), "one").ok());
  ASSERT_TRUE(SendMessage(a(), std::string_view("t\0o", 3)).ok());
  EXPECT_EQ(ReceiveMessage(b())->bytes, "one");
  EXPECT_EQ(ReceiveMessage(b())->bytes, std::string("t\0o", 3));
  EXPECT_EQ(ReceiveMessage(b()).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(Seqpacket, CarriesDescriptorsUpToTheLimit) {
  const std::vector<int> numbers(kMaxDescriptorsPerMessage, a());
  ASSERT_TRUE(SendMessage(a(), "x", numbers).ok());
  const auto message = ReceiveMessage(b());
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message->descriptors.size(), kMaxDescriptorsPerMessage);
  EXPECT_EQ(fcntl(message->descriptors[5].get(), F_GETFD), FD_CLOEXEC);
  const std::vector<int> too_many(kMaxDescriptorsPerMessage + 1, a());
  EXPECT_EQ(SendMessage(a(), "x", too_many).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(Seqpacket, CarriesTheLongestMessageAndRefusesLonger) {
  const std::string longest(kMaxMessageSize, 'x');
  ASSERT_TRUE(SendMessage(a(), longest).ok());
  EXPECT_EQ(ReceiveMessage(b())->bytes, longest);
  EXPECT_EQ(SendMessage(a(), longest + "x").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SendMessage(a(), "").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(Seqpacket, TooLongAMessageOfAHostilePeerIsDroppedAndTheNextArrives) {
  const int large = 1 << 20;
  ASSERT_EQ(setsockopt(a(), SOL_SOCKET, SO_SNDBUF, &large, sizeof(large)), 0);
  const std::string too_long(kMaxMessageSize + 1, 'x');
  ASSERT_EQ(send(a(), too_long.data(), too_long.size(), 0), static_cast<ssize_t>(too_long.size()));
  ASSERT_TRUE(SendMessage(a(), "next").ok());
  EXPECT_EQ(ReceiveMessage(b()).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReceiveMessage(b())->bytes, "next");
}

TEST_F(Seqpacket, FullSocketIsUnavailableAndSendsNothing) {
  absl::Status status;
  size_t sent = 0;
  while ((status = SendMessage(a(), "x")).ok()) ++sent;
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  size_t received = 0;
  while (ReceiveMessage(b()).ok()) ++received;
  EXPECT_EQ(received, sent);
  EXPECT_TRUE(SendMessage(a(), "x").ok());
}

TEST_F(Seqpacket, ClosedPeerIsTheEndForBothDirections) {
  ASSERT_TRUE(SendMessage(b(), "last").ok());
  pair_.second.Reset();
  EXPECT_EQ(SendMessage(a(), "x").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReceiveMessage(a())->bytes, "last");
  EXPECT_EQ(ReceiveMessage(a()).status().code(), absl::StatusCode::kOutOfRange);
}

// SOK-07: at the descriptor limit the kernel drops some and only sets a flag.
TEST_F(Seqpacket, Sok07LostDescriptorsAreDataLossAndLeakNothing) {
  ASSERT_TRUE(SendMessage(a(), "x", std::vector<int>(8, a())).ok());
  ASSERT_TRUE(SendMessage(a(), "next").ok());
  const size_t before = OpenDescriptors();
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  const UniqueFd highest(dup(a()));
  const rlimit tight{static_cast<rlim_t>(highest.get()) + 3, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  const auto message = ReceiveMessage(b());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_EQ(message.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(OpenDescriptors(), before + 1);  // `highest`
  EXPECT_EQ(ReceiveMessage(b())->bytes, "next");
}

TEST_F(Seqpacket, Sok07TenThousandPassingsLeaveTheDescriptorCountFlat) {
  const size_t before = OpenDescriptors();
  const std::vector<int> numbers(4, a());
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(SendMessage(a(), "x", numbers).ok());
    ASSERT_EQ(ReceiveMessage(b())->descriptors.size(), 4u);
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace
}  // namespace cohost
