// SPDX-License-Identifier: Apache-2.0
#include "worker/control/link.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace cohost::worker {
namespace {

// Messages handled in one turn of the loop, so that a flood on the link does not keep requests
// waiting.
constexpr int kMessagesPerTurn = 64;

absl::StatusOr<int> IntOption(int socket, int option, std::string_view name) {
  int value = 0;
  socklen_t size = sizeof(value);
  if (::getsockopt(socket, SOL_SOCKET, option, &value, &size) != 0) {
    return ErrnoStatus(errno, "getsockopt", name);
  }
  return value;
}

absl::Status CheckSocketType(int socket, int type, std::string_view what) {
  COHOST_ASSIGN_OR_RETURN(const int found, IntOption(socket, SO_TYPE, "SO_TYPE"));
  if (found == type) return absl::OkStatus();
  return absl::InvalidArgumentError(std::string(what) + " is a socket of the wrong type");
}

// Flags of a listener belong to all of its holders: it is looked at, never changed.
absl::Status CheckListener(int socket) {
  COHOST_RETURN_IF_ERROR(CheckSocketType(socket, SOCK_STREAM, "the listener"));
  COHOST_ASSIGN_OR_RETURN(const int listening, IntOption(socket, SO_ACCEPTCONN, "SO_ACCEPTCONN"));
  if (listening == 0) return absl::InvalidArgumentError("the listener does not listen");
  const int flags = ::fcntl(socket, F_GETFL);
  if (flags < 0) return ErrnoStatus(errno, "fcntl(F_GETFL)", "listener");
  if ((flags & O_NONBLOCK) == 0) return absl::InvalidArgumentError("the listener blocks");
  return absl::OkStatus();
}

// gRPC hangs without an error on a descriptor that blocks.
absl::Status PrepareChannel(int socket) {
  COHOST_RETURN_IF_ERROR(CheckSocketType(socket, SOCK_STREAM, "the channel"));
  const int flags = ::fcntl(socket, F_GETFL);
  if (flags < 0 || ::fcntl(socket, F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "fcntl(O_NONBLOCK)", "channel");
  }
  return absl::OkStatus();
}

}  // namespace

Link::Link(boost::asio::io_context& io, UniqueFd socket, std::string binary_id,
           LinkHandler& handler)
    : binary_id_(std::move(binary_id)), handler_(handler), socket_(std::move(socket)) {
  watcher_.emplace(io, socket_.get());
}

void Link::Start() { WaitForMessage(); }

void Link::SendServiceState(const LinkServiceState& state) {
  LinkMessage message;
  message.type = LinkType::kServiceState;
  message.services.push_back(state);
  Send(message);
}

void Link::SendDrained() {
  LinkMessage message;
  message.type = LinkType::kDrained;
  Send(message);
}

void Link::WaitForMessage() {
  watcher_->WhenReadable([this] { ReceiveAll(); });
}

void Link::ReceiveAll() {
  for (int i = 0; i < kMessagesPerTurn && socket_.valid(); ++i) {
    absl::StatusOr<Message> message = ReceiveMessage(socket_.get());
    if (message.ok()) {
      Receive(*std::move(message));
      continue;
    }
    if (absl::IsUnavailable(message.status())) break;
    if (absl::IsDataLoss(message.status())) {
      // This process is at its descriptor limit. The payload went with the message, so nobody knows
      // its sequence: 0 says "the one that you wait for".
      Acknowledge(0, absl::ResourceExhaustedError("descriptor limit"));
      continue;
    }
    return Lose(message.status());
  }
  if (socket_.valid()) WaitForMessage();
}

void Link::Receive(Message message) {
  const size_t count = message.descriptors.size();
  absl::StatusOr<LinkMessage> decoded = DecodeLinkMessage(message.bytes, count);
  if (decoded.ok()) return Answer(*decoded, std::move(message.descriptors));
  if (!absl::IsUnimplemented(decoded.status())) return Lose(decoded.status());
  const absl::StatusOr<LinkHeader> header = DecodeLinkHeader(message.bytes);
  if (!header.ok()) return Lose(header.status());
  Acknowledge(header->sequence, decoded.status());
}

void Link::Answer(const LinkMessage& message, std::vector<UniqueFd> descriptors) {
  if (message.type == LinkType::kHello) return SendState(message.sequence);
  Acknowledge(message.sequence, Dispatch(message, std::move(descriptors)));
}

absl::Status Link::Dispatch(const LinkMessage& message, std::vector<UniqueFd> descriptors) {
  // The decoder has checked that there are as many as the type wants.
  UniqueFd fd = descriptors.empty() ? UniqueFd() : std::move(descriptors.front());
  switch (message.type) {
    case LinkType::kListener:
      COHOST_RETURN_IF_ERROR(CheckListener(fd.get()));
      return handler_.AddListener(message.token, std::move(fd));
    case LinkType::kReleaseListener:
      return handler_.ReleaseListener(message.token);
    case LinkType::kChannel:
      COHOST_RETURN_IF_ERROR(PrepareChannel(fd.get()));
      return handler_.AddChannel(std::move(fd));
    case LinkType::kSuccessor:
      COHOST_RETURN_IF_ERROR(CheckSocketType(fd.get(), SOCK_SEQPACKET, "the hand-over socket"));
      return handler_.SetSuccessor(std::move(fd));
    case LinkType::kPredecessor:
      COHOST_RETURN_IF_ERROR(CheckSocketType(fd.get(), SOCK_SEQPACKET, "the hand-over socket"));
      return handler_.AddPredecessor(std::move(fd));
    case LinkType::kRearm:
      return handler_.Rearm();
    case LinkType::kLogFile:
      return handler_.SetLogFile(std::move(fd));
    case LinkType::kDrain:
      return handler_.Drain(message.timeout);
    case LinkType::kStop:
      return handler_.Stop();
    case LinkType::kHello:
    case LinkType::kState:
    case LinkType::kAck:
    case LinkType::kServiceState:
    case LinkType::kDrained:
      break;
  }
  return absl::UnimplementedError("not a message for a worker");
}

void Link::Acknowledge(uint64_t sequence, const absl::Status& status) {
  LinkMessage message;
  message.type = LinkType::kAck;
  message.sequence = sequence;
  message.code = static_cast<int32_t>(status.code());
  message.message = std::string(status.message());
  Send(message);
}

void Link::SendState(uint64_t sequence) {
  LinkMessage state;
  state.type = LinkType::kState;
  state.sequence = sequence;
  state.binary_id = binary_id_;
  handler_.DescribeState(state);
  Send(state);
}

void Link::Send(const LinkMessage& message) {
  if (!socket_.valid()) return;
  if (unsent_.size() >= kMaxQueued) {
    return Lose(absl::ResourceExhaustedError("the supervisor does not read its link"));
  }
  unsent_.push_back(EncodeLinkMessage(message, 0));
  if (unsent_.size() == 1) Flush();
}

void Link::Flush() {
  while (!unsent_.empty()) {
    const absl::Status sent = SendMessage(socket_.get(), unsent_.front());
    if (absl::IsUnavailable(sent)) return watcher_->WhenWritable([this] { Flush(); });
    // A peer that is gone is seen by reading, which also gets what it sent before it went.
    if (!sent.ok()) return unsent_.clear();
    unsent_.pop_front();
  }
}

void Link::Lose(const absl::Status& why) {
  if (!socket_.valid()) return;
  watcher_.reset();
  unsent_.clear();
  // Closing is what tells the peer. Shutdown would too, but leaves a descriptor to nobody.
  socket_.Reset();
  handler_.LinkLost(why);
}

}  // namespace cohost::worker
