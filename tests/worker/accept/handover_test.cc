// SPDX-License-Identifier: Apache-2.0
#include "worker/accept/handover.h"

#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "base/system/seqpacket.h"
#include "gtest/gtest.h"

namespace cohost::worker {
namespace {

// Two workers' sides on one loop.
class HandoverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<SocketPair> pair = MakeSeqpacketPair();
    ASSERT_TRUE(pair.ok());
    sender_end_ = std::move(pair->first);
    receiver_ = std::make_unique<HandoverReceiver>(
        io_, std::move(pair->second),
        [this](IdleConnection connection) { adopted_.push_back(std::move(connection)); });
    receiver_->Start([this](absl::Status why) { ended_ = std::move(why); });
  }
  // One connection of which the test keeps the client's end.
  IdleConnection Connection(uint64_t service_id) {
    absl::StatusOr<SocketPair> pair = MakeStreamPair();
    EXPECT_TRUE(pair.ok());
    clients_.push_back(std::move(pair->first));
    return {service_id, /*revision=*/9, std::move(pair->second)};
  }

  boost::asio::io_context io_;
  UniqueFd sender_end_;
  std::unique_ptr<HandoverReceiver> receiver_;
  std::vector<IdleConnection> adopted_;
  std::vector<UniqueFd> clients_;
  std::optional<absl::Status> ended_;
};

TEST_F(HandoverTest, KeepsBytesThatAreAlreadyInTheConnection) {
  HandoverSender sender(io_, std::move(sender_end_));
  IdleConnection connection = Connection(5);
  ASSERT_EQ(::send(clients_[0].get(), "GET", 3, 0), 3);
  sender.Send(std::move(connection));
  io_.poll();
  ASSERT_EQ(adopted_.size(), 1U);
  EXPECT_EQ(adopted_[0].service_id, 5U);
  EXPECT_EQ(adopted_[0].revision, 9U);
  std::string bytes(3, '\0');
  EXPECT_EQ(::recv(adopted_[0].socket.get(), bytes.data(), bytes.size(), 0), 3);
  EXPECT_EQ(bytes, "GET");
}

TEST_F(HandoverTest, LosesNoneOfMoreThanTheSocketTakes) {
  HandoverSender sender(io_, std::move(sender_end_));
  constexpr size_t kConnections = 400;
  for (size_t i = 0; i < kConnections; ++i) sender.Send(Connection(i));
  bool empty = false;
  sender.WhenEmpty([&empty] { empty = true; });
  while (adopted_.size() < kConnections && io_.run_one() > 0) {
  }
  ASSERT_EQ(adopted_.size(), kConnections);
  EXPECT_TRUE(empty);
  EXPECT_EQ(sender.sent(), kConnections);
  for (size_t i = 0; i < kConnections; ++i) EXPECT_EQ(adopted_[i].service_id, i);
}

TEST_F(HandoverTest, EndsWhenTheSenderIsDone) {
  {
    HandoverSender sender(io_, std::move(sender_end_));
    sender.Send(Connection(1));
  }
  io_.run();
  EXPECT_EQ(adopted_.size(), 1U);
  EXPECT_EQ(ended_, absl::OkStatus());
}

TEST_F(HandoverTest, ClosesConnectionsThatASuccessorCannotTake) {
  HandoverSender sender(io_, std::move(sender_end_));
  receiver_.reset();
  sender.Send(Connection(1));
  bool empty = false;
  sender.WhenEmpty([&empty] { empty = true; });
  io_.poll();
  EXPECT_TRUE(empty);
  EXPECT_EQ(sender.sent(), 0U);
  char byte;
  EXPECT_EQ(::recv(clients_[0].get(), &byte, 1, 0), 0);
}

TEST_F(HandoverTest, EndsAtAHostileMessage) {
  const int descriptor = Connection(1).socket.Release();
  const UniqueFd owned(descriptor);
  const std::string good("CHND\x01\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 24);
  const std::vector<std::string> messages = {good.substr(0, 23), good + "x",
                                             "XXXX" + good.substr(4)};
  for (const std::string& bytes : messages) {
    SetUp();
    ended_.reset();
    ASSERT_TRUE(SendMessage(sender_end_.get(), bytes, std::span(&descriptor, 1)).ok());
    io_.poll();
    ASSERT_TRUE(ended_.has_value()) << bytes;
    EXPECT_TRUE(absl::IsInvalidArgument(*ended_)) << *ended_;
    io_.restart();
  }
  SetUp();
  ended_.reset();
  ASSERT_TRUE(SendMessage(sender_end_.get(), good).ok());
  io_.poll();
  ASSERT_TRUE(ended_.has_value());
  EXPECT_TRUE(absl::IsInvalidArgument(*ended_)) << "a message without its descriptor";
  EXPECT_TRUE(adopted_.empty());
}

}  // namespace
}  // namespace cohost::worker
