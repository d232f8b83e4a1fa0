// SPDX-License-Identifier: Apache-2.0
//
// The client against a keeper that the test plays, also a bad one. With the real one:
// tests/supervisor/keeper.
#include "supervisor/process/keeper_client.h"

#include <chrono>
#include <optional>

#include <boost/asio/io_context.hpp>

#include "base/system/seqpacket.h"
#include "gtest/gtest.h"
#include "supervisor/keeper/protocol.h"

namespace cohost::supervisor {
namespace {

class KeeperClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto pair = MakeSeqpacketPair();
    ASSERT_TRUE(pair.ok());
    keeper_ = std::move(pair->first);
    socket_ = std::move(pair->second);
  }
  void Send(const KeeperMessage& message, const std::vector<int>& descriptors = {}) {
    const auto bytes = EncodeKeeperMessage(message, descriptors.size());
    ASSERT_TRUE(bytes.ok());
    ASSERT_TRUE(SendMessage(keeper_.get(), *bytes, descriptors).ok());
  }
  KeeperMessage Receive() {
    const auto message = ReceiveMessage(keeper_.get());
    EXPECT_TRUE(message.ok()) << message.status();
    const auto header = DecodeKeeperHeader(message->bytes, message->descriptors.size());
    return *DecodeKeeperMessage(*header, message->bytes);
  }
  // Answers the list before it is asked: the sequence is not looked at.
  void Connect() {
    Send({.type = KeeperType::kListBegin});
    Send({.type = KeeperType::kListEnd});
    auto connected = KeeperClient::Connect(loop_, std::move(socket_));
    ASSERT_TRUE(connected.ok()) << connected.status();
    client_ = std::move(connected->first);
    EXPECT_EQ(Receive().type, KeeperType::kList);
  }
  void Run() {
    loop_.restart();
    loop_.run_for(std::chrono::milliseconds(20));
  }

  UniqueFd keeper_;
  UniqueFd socket_;
  boost::asio::io_context loop_;
  std::unique_ptr<KeeperClient> client_;
};

TEST_F(KeeperClientTest, SilentKeeperIsAnErrorAfterTheLimit) {
  const auto connected = KeeperClient::Connect(loop_, std::move(socket_), absl::Milliseconds(20));
  EXPECT_EQ(connected.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(KeeperClientTest, KeeperThatClosesIsAnError) {
  keeper_.Reset();
  EXPECT_FALSE(KeeperClient::Connect(loop_, std::move(socket_)).ok());
}

TEST_F(KeeperClientTest, NoticesThatCameWithTheListAreDeliveredLater) {
  KeeperMessage exit{.type = KeeperType::kExited};
  exit.exit.record = 77;
  exit.exit.name = "worker/a";
  exit.exit.how = ExitHow::kSignal;
  exit.exit.value = 9;
  Send(exit);
  Send({.type = KeeperType::kShutdown});
  Connect();
  std::vector<ExitRecord> exits;
  int asked = 0;
  client_->OnExit([&](const ExitRecord& record) { exits.push_back(record); });
  client_->OnShutdown([&] { ++asked; });
  EXPECT_TRUE(exits.empty());  // never inside the call
  Run();
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(exits[0].signal, 9);
  EXPECT_EQ(asked, 1);
  const KeeperMessage acknowledge = Receive();
  EXPECT_EQ(acknowledge.type, KeeperType::kAcknowledge);
  EXPECT_EQ(acknowledge.big_number, 77u);
}

TEST_F(KeeperClientTest, AnswersFindTheirRequests) {
  Connect();
  std::vector<std::string> order;
  client_->Hold("a", "", {}, [&](absl::Status status) { order.push_back(status.ToString()); });
  client_->Kill("b", [&](absl::Status status) { order.push_back(status.ToString()); });
  const KeeperMessage hold = Receive();
  const KeeperMessage kill = Receive();
  Send({.type = KeeperType::kDone, .sequence = kill.sequence});
  Send({.type = KeeperType::kDone, .sequence = 12345});  // to nobody
  Send(ErrorMessage(hold.sequence, absl::ResourceExhaustedError("full")));
  Run();
  EXPECT_EQ(order, (std::vector<std::string>{"OK", "RESOURCE_EXHAUSTED: full"}));
}

TEST_F(KeeperClientTest, KeepersDeathFailsWhatIsOutstandingAndIsTold) {
  Connect();
  std::optional<absl::Status> launched;
  std::optional<absl::Status> gone;
  client_->Launch({.name = "a",
                   .program = "/bin/true",
                   .arguments = {"true"},
                   .environment = {},
                   .descriptors = {},
                   .identity = {},
                   .limits = {}},
                  [&](absl::StatusOr<LaunchedProcess> process) { launched = process.status(); });
  client_->OnDisconnect([&](absl::Status status) { gone = status; });
  keeper_.Reset();
  Run();
  ASSERT_TRUE(launched.has_value());
  EXPECT_EQ(launched->code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(gone.has_value());
  // Later requests fail too, and not inside the call.
  std::optional<absl::Status> held;
  client_->Hold("x", "", {}, [&](absl::Status status) { held = status; });
  EXPECT_FALSE(held.has_value());
  Run();
  EXPECT_EQ(held->code(), absl::StatusCode::kUnavailable);
}

TEST_F(KeeperClientTest, MalformedMessageIsTheEnd) {
  Connect();
  std::optional<absl::Status> gone;
  client_->OnDisconnect([&](absl::Status status) { gone = status; });
  ASSERT_TRUE(SendMessage(keeper_.get(), "not of this protocol at all, at no length").ok());
  Run();
  EXPECT_TRUE(gone.has_value());
}

TEST_F(KeeperClientTest, QueuesWhatTheKeeperDoesNotTakeYet) {
  Connect();
  const std::string blob(4096, 'b');
  int held = 0;
  for (int i = 0; i < 500; ++i) {
    client_->Hold(std::to_string(i), blob, {keeper_.get()},
                  [&](absl::Status status) { held += status.ok() ? 1 : 0; });
  }
  for (int i = 0; i < 500; ++i) {
    // The queue moves on while the loop runs.
    for (int turn = 0; turn < 200; ++turn) {
      loop_.restart();
      if (loop_.poll_one() == 0) break;
    }
    const auto message = ReceiveMessage(keeper_.get());
    ASSERT_TRUE(message.ok()) << i << message.status();
    ASSERT_EQ(message->descriptors.size(), 1u);
    const auto header = DecodeKeeperHeader(message->bytes, 1);
    ASSERT_TRUE(header.ok());
    EXPECT_EQ(DecodeKeeperMessage(*header, message->bytes)->name, std::to_string(i));
    Send({.type = KeeperType::kDone, .sequence = header->sequence});
  }
  Run();
  EXPECT_EQ(held, 500);
}

TEST_F(KeeperClientTest, DestroyedClientCallsNobodyBack) {
  Connect();
  bool called = false;
  client_->Hold("x", "", {}, [&](absl::Status) { called = true; });
  client_->OnExit([&](const ExitRecord&) { called = true; });
  const KeeperMessage hold = Receive();
  Send({.type = KeeperType::kDone, .sequence = hold.sequence});
  client_.reset();
  Run();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace cohost::supervisor
