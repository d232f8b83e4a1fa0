// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/worker_link.h"

#include <fcntl.h>

#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace cohost::supervisor {
namespace {

// Messages handled in one turn of the loop, so that one worker cannot keep it.
constexpr int kMessagesPerTurn = 64;
// The kernel refuses more descriptors in flight for a user until receivers take some.
constexpr absl::Duration kRetrySend = absl::Milliseconds(10);

}  // namespace

WorkerLink::WorkerLink(boost::asio::io_context& loop, Timers& timers, const Clock& clock,
                       UniqueFd socket, std::string binary_id, Observer& observer)
    : clock_(clock),
      binary_id_(std::move(binary_id)),
      observer_(observer),
      socket_(loop, socket.Release()),
      last_sequence_(static_cast<uint64_t>(clock.Steady().nanoseconds)),
      answer_timer_(timers),
      retry_timer_(timers) {
  WaitUntilReadable();
}

WorkerLink::~WorkerLink() = default;

void WorkerLink::SendHello() {
  LinkMessage hello;
  hello.type = LinkType::kHello;
  hello.binary_id = binary_id_;
  Send(std::move(hello), -1, nullptr);
}

void WorkerLink::SendListener(uint64_t token, int listener, Done done) {
  LinkMessage message;
  message.type = LinkType::kListener;
  message.token = token;
  Send(std::move(message), listener, std::move(done));
}

void WorkerLink::ReleaseListener(uint64_t token, Done done) {
  LinkMessage message;
  message.type = LinkType::kReleaseListener;
  message.token = token;
  Send(std::move(message), -1, std::move(done));
}

void WorkerLink::SendChannel(int channel, Done done) {
  SendPlain(LinkType::kChannel, channel, std::move(done));
}
void WorkerLink::SendSuccessor(int socket, Done done) {
  SendPlain(LinkType::kSuccessor, socket, std::move(done));
}
void WorkerLink::SendPredecessor(int socket, Done done) {
  SendPlain(LinkType::kPredecessor, socket, std::move(done));
}
void WorkerLink::SendLogFile(int file, Done done) {
  SendPlain(LinkType::kLogFile, file, std::move(done));
}
void WorkerLink::SendRearm(Done done) { SendPlain(LinkType::kRearm, -1, std::move(done)); }

void WorkerLink::SendDrain(absl::Duration timeout, Done done) {
  LinkMessage message;
  message.type = LinkType::kDrain;
  message.timeout = timeout;
  Send(std::move(message), -1, std::move(done));
}

void WorkerLink::SendStop() {
  // A worker that stops may answer or just exit; its exit is watched by the caller's own timer.
  SendPlain(LinkType::kStop, -1, [](const absl::Status&) {});
}

void WorkerLink::SendPlain(LinkType type, int descriptor, Done done) {
  LinkMessage message;
  message.type = type;
  Send(std::move(message), descriptor, std::move(done));
}

void WorkerLink::Send(LinkMessage message, int descriptor, Done done) {
  if (lost()) {
    if (done) done(absl::AbortedError("the link to the worker is lost"));
    return;
  }
  Outgoing outgoing;
  if (descriptor >= 0) {
    outgoing.descriptor.Reset(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    if (!outgoing.descriptor.valid()) {
      if (done) done(ErrnoStatus(errno, "dup", "descriptor for a worker"));
      return;
    }
  }
  if (queue_.size() >= kMaxQueued) {
    // Not here: the caller is in the middle of its own work.
    return retry_timer_.Start(absl::ZeroDuration(), [this] {
      Lose(absl::ResourceExhaustedError("too many messages wait for the worker"));
    });
  }
  message.sequence = ++last_sequence_;
  outgoing.sequence = message.sequence;
  outgoing.bytes = EncodeLinkMessage(message, descriptor >= 0 ? 1 : 0);
  outgoing.done = std::move(done);
  queue_.push_back(std::move(outgoing));
  Flush();
}

void WorkerLink::Flush() {
  while (!lost() && !waiting_writable_ && !queue_.empty() && unanswered_.size() < kWindow) {
    Outgoing& next = queue_.front();
    const int descriptor = next.descriptor.get();
    const absl::Status sent = SendMessage(
        socket_.native_handle(), next.bytes,
        next.descriptor.valid() ? std::span<const int>(&descriptor, 1) : std::span<const int>());
    if (absl::IsUnavailable(sent)) return WaitUntilWritable();
    if (absl::IsResourceExhausted(sent)) {
      return retry_timer_.Start(kRetrySend, [this] { Flush(); });
    }
    // A peer that is gone is seen by reading, which also gets what it sent before it went.
    if (!sent.ok()) return;
    unanswered_.emplace(next.sequence, Unanswered{std::move(next.done), clock_.Steady()});
    queue_.pop_front();
  }
  ArmAnswerTimer();
}

void WorkerLink::WaitUntilWritable() {
  waiting_writable_ = true;
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                     [this, alive = std::weak_ptr<bool>(alive_)](const auto& error) {
                       if (alive.expired() || error) return;
                       waiting_writable_ = false;
                       Flush();
                     });
}

void WorkerLink::WaitUntilReadable() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this, alive = std::weak_ptr<bool>(alive_)](const auto& error) {
                       if (alive.expired() || error) return;
                       ReceiveAll();
                     });
}

// Every observer's call may end this object.
void WorkerLink::ReceiveAll() {
  const std::weak_ptr<bool> alive = alive_;
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    absl::StatusOr<Message> message = ReceiveMessage(socket_.native_handle());
    if (absl::IsUnavailable(message.status())) break;
    // DATA_LOSS too: a worker sends no descriptors, so nothing of a lawful message can be lost.
    if (!message.ok()) return Lose(message.status());
    Receive(*message);
    if (alive.expired() || lost()) return;
  }
  Flush();
  WaitUntilReadable();
}

void WorkerLink::Receive(const Message& message) {
  const size_t count = message.descriptors.size();
  absl::StatusOr<LinkMessage> decoded = DecodeLinkMessage(message.bytes, count);
  // A type of a later version is not ours to judge.
  if (absl::IsUnimplemented(decoded.status())) return;
  if (!decoded.ok()) return Lose(decoded.status());
  // Answers to a supervisor before this one may still wait in the socket; ours come after them.
  const bool is_first =
      decoded->type == LinkType::kState && unanswered_.contains(decoded->sequence);
  if (!heard_ && !is_first) return;
  heard_ = true;
  switch (decoded->type) {
    case LinkType::kAck:
      return ReceiveAck(*decoded);
    case LinkType::kState: {
      const auto asked = unanswered_.find(decoded->sequence);
      if (asked == unanswered_.end() || asked->second.done) {
        return Lose(absl::InvalidArgumentError("a state that nobody asked for"));
      }
      unanswered_.erase(asked);
      return observer_.OnLinkState(*decoded);
    }
    case LinkType::kServiceState:
      // The decoder lets exactly one through.
      return observer_.OnServiceState(decoded->services.front());
    case LinkType::kDrained:
      return observer_.OnDrained();
    case LinkType::kHello:
    case LinkType::kDrain:
    case LinkType::kStop:
    case LinkType::kListener:
    case LinkType::kReleaseListener:
    case LinkType::kChannel:
    case LinkType::kSuccessor:
    case LinkType::kPredecessor:
    case LinkType::kRearm:
    case LinkType::kLogFile:
      return Lose(absl::InvalidArgumentError("a message that only a supervisor sends"));
  }
}

void WorkerLink::ReceiveAck(const LinkMessage& ack) {
  // 0: the worker lost the message that it answers, being at its descriptor limit; messages arrive
  // in order, so it is the oldest.
  const auto asked = ack.sequence == 0 ? unanswered_.begin() : unanswered_.find(ack.sequence);
  if (asked == unanswered_.end()) {
    return Lose(absl::InvalidArgumentError("an answer to nothing"));
  }
  const Done done = std::move(asked->second.done);
  unanswered_.erase(asked);
  if (!done) return Lose(absl::InvalidArgumentError("a hello was not answered by a state"));
  // Any number is a code: an unknown one becomes UNKNOWN.
  done(absl::Status(static_cast<absl::StatusCode>(ack.code), ack.message));
}

void WorkerLink::ArmAnswerTimer() {
  if (unanswered_.empty()) return answer_timer_.Cancel();
  if (answer_timer_.running()) return;
  const SteadyTime limit = unanswered_.begin()->second.sent + kAnswerLimit;
  answer_timer_.Start(limit - clock_.Steady(), [this] {
    if (unanswered_.empty()) return;
    if (unanswered_.begin()->second.sent + kAnswerLimit > clock_.Steady()) return ArmAnswerTimer();
    Lose(absl::DeadlineExceededError(
        absl::StrCat("no answer on the link for ", absl::FormatDuration(kAnswerLimit))));
  });
}

void WorkerLink::Lose(const absl::Status& why) {
  if (lost()) return;
  socket_.close();
  answer_timer_.Cancel();
  retry_timer_.Cancel();
  std::vector<Done> abandoned;
  for (auto& [sequence, unanswered] : unanswered_) abandoned.push_back(std::move(unanswered.done));
  for (Outgoing& outgoing : queue_) abandoned.push_back(std::move(outgoing.done));
  unanswered_.clear();
  queue_.clear();
  const std::weak_ptr<bool> alive = alive_;
  for (const Done& done : abandoned) {
    if (done && !alive.expired()) done(absl::AbortedError("the link is lost"));
  }
  if (!alive.expired()) observer_.OnLinkLost(why);
}

}  // namespace cohost::supervisor
