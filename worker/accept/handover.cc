// SPDX-License-Identifier: Apache-2.0
#include "worker/accept/handover.h"

#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/system/seqpacket.h"

namespace cohost::worker {
namespace {

constexpr uint32_t kMagic = 0x444e4843;  // "CHND"
constexpr uint16_t kVersion = 1;
// So that a thousand connections do not keep the first one's next request waiting.
constexpr int kMessagesPerTurn = 32;

struct WireMessage {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint16_t reserved = 0;
  uint64_t service_id = 0;
  uint64_t revision = 0;
};
static_assert(sizeof(WireMessage) == 24);

absl::StatusOr<IdleConnection> Decode(Message message) {
  WireMessage wire;
  if (message.bytes.size() != sizeof(wire) || message.descriptors.size() != 1) {
    return absl::InvalidArgumentError("a hand-over message of the wrong size");
  }
  std::memcpy(&wire, message.bytes.data(), sizeof(wire));
  if (wire.magic != kMagic || wire.version != kVersion || wire.reserved != 0) {
    return absl::InvalidArgumentError("a hand-over message of another format");
  }
  return IdleConnection{wire.service_id, wire.revision, std::move(message.descriptors.front())};
}

}  // namespace

HandoverSender::HandoverSender(boost::asio::io_context& io, UniqueFd socket)
    : socket_(std::move(socket)) {
  watcher_.emplace(io, socket_.get());
}

HandoverSender::~HandoverSender() { watcher_.reset(); }

void HandoverSender::Send(IdleConnection connection) {
  if (!socket_.valid()) return;
  waiting_.push_back(std::move(connection));
  if (waiting_.size() == 1) Flush();
}

void HandoverSender::Flush() {
  while (!waiting_.empty()) {
    const IdleConnection& next = waiting_.front();
    WireMessage wire;
    wire.service_id = next.service_id;
    wire.revision = next.revision;
    const std::string_view bytes(reinterpret_cast<const char*>(&wire), sizeof(wire));
    const int descriptor = next.socket.get();
    const absl::Status sent = SendMessage(socket_.get(), bytes, std::span(&descriptor, 1));
    if (absl::IsUnavailable(sent)) return watcher_->WhenWritable([this] { Flush(); });
    if (!sent.ok()) {
      // The successor is gone, or may not take more: what waits ends as without a successor.
      watcher_.reset();
      socket_.Reset();
      waiting_.clear();
      break;
    }
    waiting_.pop_front();
    ++sent_;
  }
  TellIfEmpty();
}

void HandoverSender::WhenEmpty(std::function<void()> done) {
  when_empty_ = std::move(done);
  TellIfEmpty();
}

void HandoverSender::TellIfEmpty() {
  if (!waiting_.empty() || when_empty_ == nullptr) return;
  std::exchange(when_empty_, nullptr)();
}

HandoverReceiver::HandoverReceiver(boost::asio::io_context& io, UniqueFd socket,
                                   std::function<void(IdleConnection)> adopt)
    : adopt_(std::move(adopt)), socket_(std::move(socket)) {
  watcher_.emplace(io, socket_.get());
}

HandoverReceiver::~HandoverReceiver() { watcher_.reset(); }

void HandoverReceiver::Start(std::function<void(absl::Status)> ended) {
  ended_ = std::move(ended);
  Wait();
}

void HandoverReceiver::Wait() {
  watcher_->WhenReadable([this] { ReceiveAll(); });
}

void HandoverReceiver::ReceiveAll() {
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    absl::StatusOr<Message> message = ReceiveMessage(socket_.get());
    if (absl::IsUnavailable(message.status())) break;
    if (absl::IsOutOfRange(message.status())) return End(absl::OkStatus());
    if (absl::IsDataLoss(message.status())) {
      // This process is at its descriptor limit. The next ones may fit again.
      ++lost_;
      continue;
    }
    if (!message.ok()) return End(message.status());
    absl::StatusOr<IdleConnection> connection = Decode(*std::move(message));
    if (!connection.ok()) return End(connection.status());
    adopt_(*std::move(connection));
  }
  Wait();
}

void HandoverReceiver::End(const absl::Status& why) {
  watcher_.reset();
  socket_.Reset();
  // Moved out: the function may destroy this object.
  const std::function<void(absl::Status)> ended = std::exchange(ended_, nullptr);
  ended(why);
}

}  // namespace cohost::worker
