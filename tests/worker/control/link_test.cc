// SPDX-License-Identifier: Apache-2.0
#include "worker/control/link.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "base/system/seqpacket.h"
#include "gtest/gtest.h"

namespace cohost::worker {
namespace {

size_t OpenDescriptors() {
  size_t count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  (void)::closedir(folder);
  return count;
}

// Keeps what it is told.
class RecordingHandler final : public LinkHandler {
 public:
  void DescribeState(LinkMessage& state) override {
    state.draining = true;
    state.listener_tokens = {3, 5};
    state.services = {{/*service_id=*/1, /*revision=*/2, /*row=*/0, /*state=*/2}};
  }
  absl::Status AddListener(uint64_t token, UniqueFd listener) override {
    tokens.push_back(token);
    descriptors.push_back(std::move(listener));
    return answer;
  }
  absl::Status ReleaseListener(uint64_t token) override {
    released.push_back(token);
    return answer;
  }
  absl::Status AddChannel(UniqueFd channel) override { return Keep(std::move(channel)); }
  absl::Status SetSuccessor(UniqueFd socket) override { return Keep(std::move(socket)); }
  absl::Status AddPredecessor(UniqueFd socket) override { return Keep(std::move(socket)); }
  absl::Status SetLogFile(UniqueFd file) override { return Keep(std::move(file)); }
  absl::Status Rearm() override {
    ++rearmed;
    return answer;
  }
  absl::Status Drain(absl::Duration timeout) override {
    drain = timeout;
    return answer;
  }
  absl::Status Stop() override {
    stopped = true;
    return answer;
  }
  void LinkLost(const absl::Status& why) override { lost = why; }

  absl::Status Keep(UniqueFd fd) {
    descriptors.push_back(std::move(fd));
    return answer;
  }

  absl::Status answer;
  std::vector<uint64_t> tokens;
  std::vector<uint64_t> released;
  std::vector<UniqueFd> descriptors;
  int rearmed = 0;
  std::optional<absl::Duration> drain;
  bool stopped = false;
  std::optional<absl::Status> lost;
};

// The test is the supervisor at the link's other end.
class LinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<SocketPair> pair = MakeSeqpacketPair();
    ASSERT_TRUE(pair.ok());
    peer_ = std::move(pair->first);
    link_.emplace(io_, std::move(pair->second), "build", handler_);
    link_->Start();
  }

  void Send(LinkMessage message, const std::vector<int>& descriptors = {}) {
    message.sequence = ++sequence_;
    ASSERT_TRUE(
        SendMessage(peer_.get(), EncodeLinkMessage(message, descriptors.size()), descriptors).ok());
  }
  void Send(LinkType type, const std::vector<int>& descriptors = {}) {
    LinkMessage message;
    message.type = type;
    Send(message, descriptors);
  }
  absl::StatusOr<LinkMessage> Receive() {
    io_.poll();
    io_.restart();
    const absl::StatusOr<Message> message = ReceiveMessage(peer_.get());
    if (!message.ok()) return message.status();
    return DecodeLinkMessage(message->bytes, message->descriptors.size());
  }
  // The status in the acknowledgement of the last message.
  absl::Status Acknowledged() {
    const absl::StatusOr<LinkMessage> ack = Receive();
    if (!ack.ok()) return ack.status();
    EXPECT_EQ(ack->type, LinkType::kAck);
    EXPECT_EQ(ack->sequence, sequence_);
    return absl::Status(static_cast<absl::StatusCode>(ack->code), ack->message);
  }

  boost::asio::io_context io_;
  RecordingHandler handler_;
  UniqueFd peer_;
  std::optional<Link> link_;
  uint64_t sequence_ = 0;
};

UniqueFd Listener() {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, /*protocol=*/0));
  EXPECT_EQ(::listen(socket.get(), 1), 0);
  return socket;
}

TEST_F(LinkTest, AnswersAHelloWithTheFullState) {
  Send(LinkType::kHello);
  const absl::StatusOr<LinkMessage> state = Receive();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->type, LinkType::kState);
  EXPECT_EQ(state->sequence, 1U);
  EXPECT_EQ(state->binary_id, "build");
  EXPECT_EQ(state->segment_version, kSegmentVersion);
  EXPECT_TRUE(state->draining);
  EXPECT_EQ(state->listener_tokens, (std::vector<uint64_t>{3, 5}));
  ASSERT_EQ(state->services.size(), 1U);
  EXPECT_EQ(state->services[0].revision, 2U);
}

TEST_F(LinkTest, AcknowledgesEachMessageWithTheHandlersStatus) {
  LinkMessage release;
  release.type = LinkType::kReleaseListener;
  release.token = 8;
  Send(release);
  EXPECT_EQ(Acknowledged(), absl::OkStatus());
  EXPECT_EQ(handler_.released, std::vector<uint64_t>{8});
  handler_.answer = absl::FailedPreconditionError("not now");
  Send(LinkType::kRearm);
  EXPECT_EQ(Acknowledged(), absl::FailedPreconditionError("not now"));
  EXPECT_EQ(handler_.rearmed, 1);
  LinkMessage drain;
  drain.type = LinkType::kDrain;
  drain.timeout = absl::Seconds(9);
  Send(drain);
  EXPECT_FALSE(Acknowledged().ok());
  EXPECT_EQ(handler_.drain, absl::Seconds(9));
  Send(LinkType::kStop);
  EXPECT_FALSE(Acknowledged().ok());
  EXPECT_TRUE(handler_.stopped);
}

TEST_F(LinkTest, TakesListeningStreamSocketsOnly) {
  LinkMessage message;
  message.type = LinkType::kListener;
  message.token = 4;
  const UniqueFd listener = Listener();
  Send(message, {listener.get()});
  EXPECT_EQ(Acknowledged(), absl::OkStatus());
  EXPECT_EQ(handler_.tokens, std::vector<uint64_t>{4});

  const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd datagram(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, /*protocol=*/0));
  const UniqueFd deaf(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  UniqueFd blocking = Listener();
  ASSERT_EQ(::fcntl(blocking.get(), F_SETFL, 0), 0);
  for (const int wrong : {file.get(), datagram.get(), deaf.get(), blocking.get()}) {
    Send(message, {wrong});
    EXPECT_FALSE(Acknowledged().ok());
  }
  EXPECT_EQ(handler_.tokens.size(), 1U);
}

TEST_F(LinkTest, MakesAChannelNonBlocking) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd mine(ends[0]);
  const UniqueFd theirs(ends[1]);
  Send(LinkType::kChannel, {theirs.get()});
  EXPECT_EQ(Acknowledged(), absl::OkStatus());
  ASSERT_EQ(handler_.descriptors.size(), 1U);
  EXPECT_NE(::fcntl(handler_.descriptors[0].get(), F_GETFL) & O_NONBLOCK, 0);
  Send(LinkType::kSuccessor, {mine.get()});
  EXPECT_FALSE(Acknowledged().ok()) << "a hand-over socket is a seqpacket";
}

TEST_F(LinkTest, AnswersAnUnknownTypeAndGoesOn) {
  LinkMessage rearm;
  rearm.type = LinkType::kRearm;
  rearm.sequence = ++sequence_;
  std::string bytes = EncodeLinkMessage(rearm, 0);
  bytes[6] = 99;  // LinkHeader::type
  ASSERT_TRUE(SendMessage(peer_.get(), bytes).ok());
  EXPECT_TRUE(absl::IsUnimplemented(Acknowledged()));
  Send(LinkType::kRearm);
  EXPECT_EQ(Acknowledged(), absl::OkStatus());
}

TEST_F(LinkTest, RefusesMessagesThatOnlyAWorkerSends) {
  Send(LinkType::kDrained);
  EXPECT_TRUE(absl::IsUnimplemented(Acknowledged()));
}

TEST_F(LinkTest, IsLostAtAMalformedMessage) {
  ASSERT_TRUE(SendMessage(peer_.get(), "GET / HTTP/1.1\r\n\r\n").ok());
  EXPECT_FALSE(Receive().ok());
  ASSERT_TRUE(handler_.lost.has_value());
  EXPECT_TRUE(absl::IsInvalidArgument(*handler_.lost)) << *handler_.lost;
  // The peer sees it, and nothing more is read.
  EXPECT_FALSE(SendMessage(peer_.get(), "x").ok());
  link_->SendDrained();
}

TEST_F(LinkTest, IsLostAtItsEndAfterWhatWasSentBefore) {
  Send(LinkType::kRearm);
  peer_.Reset();
  io_.poll();
  EXPECT_EQ(handler_.rearmed, 1);
  ASSERT_TRUE(handler_.lost.has_value());
  EXPECT_TRUE(absl::IsOutOfRange(*handler_.lost)) << *handler_.lost;
}

TEST_F(LinkTest, QueuesWhatAPeerDoesNotReadUpToALimit) {
  size_t sent = 0;
  while (!handler_.lost.has_value() && sent < 100000) {
    link_->SendServiceState({/*service_id=*/sent++, 0, 0, 0});
  }
  ASSERT_TRUE(handler_.lost.has_value());
  EXPECT_TRUE(absl::IsResourceExhausted(*handler_.lost));
  EXPECT_GT(sent, Link::kMaxQueued);
}

TEST_F(LinkTest, SendsWhatWasQueuedInOrder) {
  constexpr uint64_t kStates = 2000;
  for (uint64_t id = 1; id <= kStates; ++id) link_->SendServiceState({id, 0, 0, 0});
  for (uint64_t id = 1; id <= kStates; ++id) {
    const absl::StatusOr<LinkMessage> state = Receive();
    ASSERT_TRUE(state.ok()) << state.status() << " at " << id;
    EXPECT_EQ(state->services.at(0).service_id, id);
  }
}

// SOK-07: the receiver is at its descriptor limit, so the message comes without its descriptors.
TEST_F(LinkTest, Sok07RefusesAListenerAtTheDescriptorLimit) {
  const UniqueFd listener = Listener();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const UniqueFd highest(::dup(listener.get()));
  const size_t open = OpenDescriptors();
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(highest.get()) + 1;
  LinkMessage message;
  message.type = LinkType::kListener;
  message.token = 4;
  Send(message, {listener.get()});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  io_.poll();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);

  const absl::StatusOr<LinkMessage> ack = Receive();
  ASSERT_TRUE(ack.ok()) << ack.status();
  EXPECT_EQ(ack->code, static_cast<int32_t>(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(ack->message, "descriptor limit");
  EXPECT_TRUE(handler_.tokens.empty());
  EXPECT_EQ(OpenDescriptors(), open);
  Send(message, {listener.get()});
  EXPECT_EQ(Acknowledged(), absl::OkStatus()) << "the link goes on";
}

}  // namespace
}  // namespace cohost::worker
