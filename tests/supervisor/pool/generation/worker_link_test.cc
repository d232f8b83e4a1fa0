// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/worker_link.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/fakes/manual_time.h"

namespace cohost::supervisor {
namespace {

// The supervisor's end, and the other end of a real socket in the test's hands.
class WorkerLinkTest : public ::testing::Test, public WorkerLink::Observer {
 protected:
  WorkerLinkTest() {
    SocketPair pair = *MakeSeqpacketPair();
    peer_ = std::move(pair.second);
    link_.emplace(loop_, time_, time_, std::move(pair.first), "build-1", *this);
  }

  void OnLinkState(const LinkMessage& state) override { states_.push_back(state); }
  void OnServiceState(const LinkServiceState& state) override { services_.push_back(state); }
  void OnDrained() override { ++drained_; }
  void OnLinkLost(const absl::Status& why) override { lost_ = why; }

  void Settle() {
    for (int i = 0; i < 5; ++i) {
      loop_.poll();
      loop_.restart();
      time_.RunDue();
    }
  }

  std::optional<LinkMessage> Receive() {
    absl::StatusOr<Message> message = ReceiveMessage(peer_.get());
    if (!message.ok()) return std::nullopt;
    descriptors_ = std::move(message->descriptors);
    return DecodeLinkMessage(message->bytes, descriptors_.size()).value();
  }
  void Answer(LinkType type, uint64_t sequence, int32_t code = 0, const std::string& text = "") {
    LinkMessage message;
    message.type = type;
    message.sequence = sequence;
    message.code = code;
    message.message = text;
    if (type == LinkType::kServiceState) message.services.push_back({5, 6, 7, 2});
    EXPECT_TRUE(SendMessage(peer_.get(), EncodeLinkMessage(message, 0)).ok());
    Settle();
  }
  void Greet() {
    link_->SendHello();
    Answer(LinkType::kState, Receive()->sequence);
  }

  ManualTime time_;
  boost::asio::io_context loop_;
  UniqueFd peer_;
  std::vector<UniqueFd> descriptors_;
  std::vector<LinkMessage> states_;
  std::vector<LinkServiceState> services_;
  int drained_ = 0;
  absl::Status lost_;
  std::optional<WorkerLink> link_;
};

TEST_F(WorkerLinkTest, AHelloIsAnsweredByTheState) {
  link_->SendHello();
  const std::optional<LinkMessage> hello = Receive();
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->type, LinkType::kHello);
  EXPECT_EQ(hello->binary_id, "build-1");
  Answer(LinkType::kState, hello->sequence);
  EXPECT_EQ(states_.size(), 1u);
  EXPECT_TRUE(lost_.ok());
}

TEST_F(WorkerLinkTest, DescriptorsTravelAndAnswersComeBack) {
  Greet();
  const UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  absl::Status answer = absl::UnknownError("none yet");
  link_->SendListener(42, file.get(), [&](const absl::Status& status) { answer = status; });
  const std::optional<LinkMessage> listener = Receive();
  ASSERT_TRUE(listener.has_value());
  EXPECT_EQ(listener->token, 42u);
  EXPECT_EQ(descriptors_.size(), 1u);
  Answer(LinkType::kAck, listener->sequence, 3, "not a socket");
  EXPECT_TRUE(absl::IsInvalidArgument(answer));
  EXPECT_EQ(answer.message(), "not a socket");
}

TEST_F(WorkerLinkTest, EveryKindOfMessageIsSent) {
  Greet();
  const UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  int answers = 0;
  const auto done = [&](const absl::Status& status) { answers += status.ok() ? 1 : 0; };
  link_->ReleaseListener(1, done);
  link_->SendChannel(file.get(), done);
  link_->SendSuccessor(file.get(), done);
  link_->SendPredecessor(file.get(), done);
  link_->SendLogFile(file.get(), done);
  link_->SendRearm(done);
  link_->SendDrain(absl::Seconds(3), done);
  link_->SendStop();
  for (const LinkType type : {LinkType::kReleaseListener, LinkType::kChannel, LinkType::kSuccessor,
                              LinkType::kPredecessor, LinkType::kLogFile, LinkType::kRearm,
                              LinkType::kDrain, LinkType::kStop}) {
    const std::optional<LinkMessage> message = Receive();
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->type, type);
    if (type == LinkType::kDrain) {
      EXPECT_EQ(message->timeout, absl::Seconds(3));
    }
    Answer(LinkType::kAck, message->sequence);
  }
  EXPECT_EQ(answers, 7);
}

TEST_F(WorkerLinkTest, ReportsWhatTheWorkerSaysByItself) {
  Greet();
  Answer(LinkType::kServiceState, 0);
  Answer(LinkType::kDrained, 0);
  ASSERT_EQ(services_.size(), 1u);
  EXPECT_EQ(services_[0].service_id, 5u);
  EXPECT_EQ(drained_, 1);
}

TEST_F(WorkerLinkTest, AnswersToAnEarlierSupervisorAreNotHeard) {
  link_->SendHello();
  Answer(LinkType::kAck, 77);
  Answer(LinkType::kState, 78);
  Answer(LinkType::kDrained, 0);
  EXPECT_TRUE(lost_.ok());
  EXPECT_TRUE(states_.empty());
  EXPECT_EQ(drained_, 0);
  Answer(LinkType::kState, Receive()->sequence);
  EXPECT_EQ(states_.size(), 1u);
}

TEST_F(WorkerLinkTest, AnAnswerToNothingLosesTheLink) {
  Greet();
  Answer(LinkType::kAck, 77);
  EXPECT_TRUE(absl::IsInvalidArgument(lost_));
  EXPECT_TRUE(link_->lost());
}

TEST_F(WorkerLinkTest, ASupervisorsMessageFromAWorkerLosesTheLink) {
  Greet();
  Answer(LinkType::kStop, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(lost_));
}

TEST_F(WorkerLinkTest, AStateThatNobodyAskedForLosesTheLink) {
  Greet();
  Answer(LinkType::kState, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(lost_));
}

TEST_F(WorkerLinkTest, ABrokenMessageLosesTheLinkAndAbortsWhatIsOpen) {
  Greet();
  absl::Status answer;
  link_->SendRearm([&](const absl::Status& status) { answer = status; });
  ASSERT_TRUE(SendMessage(peer_.get(), "rubbish").ok());
  Settle();
  EXPECT_TRUE(absl::IsInvalidArgument(lost_));
  EXPECT_TRUE(absl::IsAborted(answer));
}

TEST_F(WorkerLinkTest, TheEndOfTheWorkerIsTheEndOfTheLink) {
  Greet();
  peer_.Reset();
  Settle();
  EXPECT_TRUE(absl::IsOutOfRange(lost_));
}

TEST_F(WorkerLinkTest, SilenceLosesTheLinkAtItsLimit) {
  Greet();
  link_->SendRearm([](const absl::Status&) {});
  time_.Pass(WorkerLink::kAnswerLimit - absl::Seconds(1));
  Settle();
  EXPECT_TRUE(lost_.ok());
  time_.Pass(absl::Seconds(1));
  Settle();
  EXPECT_TRUE(absl::IsDeadlineExceeded(lost_));
}

TEST_F(WorkerLinkTest, NoMoreThanAWindowIsUnderWay) {
  Greet();
  int answers = 0;
  for (size_t i = 0; i < 3 * WorkerLink::kWindow; ++i) {
    link_->SendRearm([&](const absl::Status&) { ++answers; });
  }
  std::vector<uint64_t> waiting;
  while (const std::optional<LinkMessage> message = Receive()) waiting.push_back(message->sequence);
  EXPECT_EQ(waiting.size(), WorkerLink::kWindow);
  for (size_t i = 0; i < 3 * WorkerLink::kWindow; ++i) {
    ASSERT_LT(i, waiting.size());
    Answer(LinkType::kAck, waiting[i]);
    while (const std::optional<LinkMessage> message = Receive()) {
      waiting.push_back(message->sequence);
    }
  }
  EXPECT_EQ(answers, 3 * static_cast<int>(WorkerLink::kWindow));
}

TEST_F(WorkerLinkTest, AQueueThatOverflowsLosesTheLinkAndNotTheSupervisor) {
  Greet();
  for (size_t i = 0; i < WorkerLink::kMaxQueued + WorkerLink::kWindow + 1; ++i) {
    link_->SendRearm([](const absl::Status&) {});
  }
  EXPECT_TRUE(lost_.ok());
  Settle();
  EXPECT_TRUE(absl::IsResourceExhausted(lost_));
}

TEST_F(WorkerLinkTest, AnAnswerWithoutANumberIsForTheOldestMessage) {
  Greet();
  std::vector<int> order;
  link_->SendRearm([&](const absl::Status& s) { order.push_back(s.ok() ? 0 : 1); });
  link_->SendRearm([&](const absl::Status& s) { order.push_back(s.ok() ? 0 : 2); });
  Answer(LinkType::kAck, 0, 8, "descriptor limit");
  EXPECT_THAT(order, ::testing::ElementsAre(1));
  EXPECT_TRUE(lost_.ok());
}

TEST_F(WorkerLinkTest, MayEndWithMessagesAndHandlersUnderWay) {
  Greet();
  link_->SendRearm([](const absl::Status&) {});
  Answer(LinkType::kDrained, 0);
  link_.reset();
  Settle();
  EXPECT_TRUE(lost_.ok());
}

}  // namespace
}  // namespace cohost::supervisor
