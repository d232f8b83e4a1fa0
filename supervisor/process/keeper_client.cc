// SPDX-License-Identifier: Apache-2.0
#include "supervisor/process/keeper_client.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/seqpacket.h"
#include "supervisor/keeper/protocol.h"

namespace cohost::supervisor {
namespace {

// Longer than the keeper's own limits (exec 10 s, end 5 s), so that its reason arrives first.
constexpr absl::Duration kSpawnLimit = absl::Seconds(20);
constexpr absl::Duration kKillLimit = absl::Seconds(10);
constexpr absl::Duration kLimit = absl::Seconds(5);

ExitRecord ToRecord(const ExitNotice& notice) {
  ExitRecord record;
  record.name = notice.name;
  record.pid = static_cast<pid_t>(notice.pid);
  if (notice.how == ExitHow::kCode) record.exit_code = static_cast<int>(notice.value);
  if (notice.how == ExitHow::kSignal) record.signal = static_cast<int>(notice.value);
  record.out_of_memory = notice.out_of_memory;
  record.user_time = absl::Nanoseconds(static_cast<int64_t>(notice.user_ns));
  record.system_time = absl::Nanoseconds(static_cast<int64_t>(notice.system_ns));
  return record;
}

SpawnRequest ToRequest(ProcessSpec& spec) {
  SpawnRequest request;
  request.name = std::move(spec.name);
  request.program = std::move(spec.program);
  request.arguments = std::move(spec.arguments);
  request.environment = std::move(spec.environment);
  for (const auto& [number, fd] : spec.descriptors) {
    request.numbers.push_back(static_cast<uint32_t>(number));
  }
  if (spec.use_cgroup) request.flags |= kSpawnUseCgroup;
  if (spec.identity.uid) request.flags |= kSpawnSetUid;
  if (spec.identity.gid) request.flags |= kSpawnSetGid;
  request.uid = spec.identity.uid.value_or(0);
  request.gid = spec.identity.gid.value_or(0);
  const auto& groups = spec.identity.supplementary_groups;
  request.groups.assign(groups.begin(), groups.end());
  request.open_files = spec.limits.open_files;
  request.core_size = spec.limits.core_size.count;
  request.oom_score_adjust = spec.limits.oom_score_adjust;
  request.memory = spec.limits.memory.count;
  request.cpu_millionths = static_cast<uint64_t>(std::max(0.0, spec.limits.cpu) * 1e6);
  request.tasks = spec.limits.tasks;
  return request;
}

struct Answer {
  KeeperMessage message;
  std::vector<UniqueFd> descriptors;
};

absl::StatusOr<Answer> ReceiveAnswer(int socket) {
  COHOST_ASSIGN_OR_RETURN(Message message, ReceiveMessage(socket));
  COHOST_ASSIGN_OR_RETURN(const KeeperHeader header,
                          DecodeKeeperHeader(message.bytes, message.descriptors.size()));
  COHOST_ASSIGN_OR_RETURN(KeeperMessage decoded, DecodeKeeperMessage(header, message.bytes));
  return Answer{std::move(decoded), std::move(message.descriptors)};
}

// False at the deadline.
absl::StatusOr<bool> WaitReadable(int socket, SteadyTime deadline) {
  while (true) {
    const absl::Duration left = deadline - SystemClock().Steady();
    if (left <= absl::ZeroDuration()) return false;
    pollfd readable{socket, POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return ErrnoStatus(errno, "poll", "the keeper's socket");
  }
}

}  // namespace

class KeeperClient::Session : public std::enable_shared_from_this<Session> {
 public:
  using Done = std::function<void(absl::StatusOr<Answer>)>;

  Session(boost::asio::io_context& loop, UniqueFd socket)
      : loop_(loop), socket_(loop, socket.Release()), timer_(loop) {}

  absl::StatusOr<Inheritance> List(absl::Duration limit);
  void Start() { WaitForAnswers(); }
  void Close();

  void Request(KeeperMessage message, const std::vector<int>& descriptors, absl::Duration limit,
               Done done);
  // Messages that nothing answers, or whose answer nobody needs. Ignoring failures: the keeper is
  // gone, which OnDisconnect says.
  void Tell(const KeeperMessage& message) { (void)Queue(message, {}); }
  // Runs the function from the loop, unless the session was closed before.
  void Post(std::function<void()> function);

  void DeliverExits();
  void DeliverShutdown();
  void DeliverReload();

  std::function<void(const ExitRecord&)> on_exit;
  std::function<void()> on_shutdown;
  std::function<void()> on_reload;
  std::function<void(absl::Status)> on_disconnect;

 private:
  struct Pending {
    Done done;
    SteadyTime deadline;
  };
  struct Outgoing {
    std::string bytes;
    std::vector<UniqueFd> descriptors;
  };

  absl::Status Queue(const KeeperMessage& message, const std::vector<int>& descriptors);
  void Flush();
  void WaitForAnswers();
  void WaitForRoom();
  void ArmTimer();
  void ExpireRequests();
  // Takes what the keeper sends by itself; false for answers.
  bool TakeNotice(const KeeperMessage& message);
  void Dispatch(Answer answer);
  void Disconnect(const absl::Status& status);

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer timer_;
  uint64_t next_sequence_ = 1;
  std::map<uint64_t, Pending> pending_;
  std::deque<Outgoing> outgoing_;
  bool waits_for_room_ = false;
  bool closed_ = false;

  // Came before somebody could take them.
  std::deque<ExitNotice> exits_;
  bool shutdown_asked_ = false;
  bool reload_asked_ = false;
};

absl::StatusOr<Inheritance> KeeperClient::Session::List(absl::Duration limit) {
  COHOST_RETURN_IF_ERROR(Queue({.type = KeeperType::kList, .sequence = next_sequence_++}, {}));
  const SteadyTime deadline = SystemClock().Steady() + limit;
  Inheritance inheritance;
  while (true) {
    absl::StatusOr<Answer> answer = ReceiveAnswer(socket_.native_handle());
    if (absl::IsUnavailable(answer.status())) {
      COHOST_ASSIGN_OR_RETURN(const bool readable, WaitReadable(socket_.native_handle(), deadline));
      if (!readable) return absl::DeadlineExceededError("the keeper does not answer");
      continue;
    }
    if (!answer.ok()) return Annotate(answer.status(), "keeper");
    KeeperMessage& message = answer->message;
    if (TakeNotice(message)) continue;
    if (message.type == KeeperType::kListEnd) return inheritance;
    if (message.type == KeeperType::kError) return Annotate(ErrorOf(message), "keeper");
    if (message.type == KeeperType::kListBegin) {
      inheritance.supervisor_restarts = message.number;
      inheritance.keeper_start_ns = static_cast<int64_t>(message.big_number);
    } else if (message.type == KeeperType::kHeldEntry) {
      inheritance.held.push_back(
          {std::move(message.name), std::move(message.text), std::move(answer->descriptors)});
    } else if (message.type == KeeperType::kRunning) {
      inheritance.processes.push_back({std::move(message.name), static_cast<pid_t>(message.number),
                                       std::move(answer->descriptors.front())});
    }
  }
}

void KeeperClient::Session::Close() {
  closed_ = true;
  boost::system::error_code ignored;  // closing a descriptor that we own cannot usefully fail
  socket_.close(ignored);
  timer_.cancel();
  pending_.clear();
  on_exit = nullptr;
  on_shutdown = on_reload = nullptr;
  on_disconnect = nullptr;
}

void KeeperClient::Session::Post(std::function<void()> function) {
  boost::asio::post(loop_, [self = shared_from_this(), function = std::move(function)] {
    if (!self->closed_) function();
  });
}

void KeeperClient::Session::Request(KeeperMessage message, const std::vector<int>& descriptors,
                                    absl::Duration limit, Done done) {
  message.sequence = next_sequence_++;
  if (absl::Status status = Queue(message, descriptors); !status.ok()) {
    Post([done = std::move(done), status] { done(status); });
    return;
  }
  pending_[message.sequence] = {std::move(done), SystemClock().Steady() + limit};
  ArmTimer();
}

absl::Status KeeperClient::Session::Queue(const KeeperMessage& message,
                                          const std::vector<int>& descriptors) {
  if (!socket_.is_open()) return absl::UnavailableError("the keeper is gone");
  COHOST_ASSIGN_OR_RETURN(std::string bytes, EncodeKeeperMessage(message, descriptors.size()));
  // Sent at once where possible: the caller's descriptors are borrowed only for the call.
  if (outgoing_.empty()) {
    const absl::Status status = SendMessage(socket_.native_handle(), bytes, descriptors);
    if (!absl::IsUnavailable(status)) return status;
  }
  Outgoing outgoing{std::move(bytes), {}};
  for (const int fd : descriptors) {
    UniqueFd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) return ErrnoStatus(errno, "dup", "");
    outgoing.descriptors.push_back(std::move(copy));
  }
  outgoing_.push_back(std::move(outgoing));
  WaitForRoom();
  return absl::OkStatus();
}

void KeeperClient::Session::Flush() {
  while (!outgoing_.empty()) {
    std::vector<int> numbers;
    for (const UniqueFd& fd : outgoing_.front().descriptors) numbers.push_back(fd.get());
    const absl::Status status =
        SendMessage(socket_.native_handle(), outgoing_.front().bytes, numbers);
    if (absl::IsUnavailable(status)) return WaitForRoom();
    // Other failures: the request runs into its limit, or the keeper is gone and reading says so.
    outgoing_.pop_front();
  }
}

void KeeperClient::Session::WaitForRoom() {
  if (std::exchange(waits_for_room_, true)) return;
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->waits_for_room_ = false;
                       if (!error && !self->closed_) self->Flush();
                     });
}

void KeeperClient::Session::WaitForAnswers() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (error || self->closed_) return;
                       while (!self->closed_) {
                         absl::StatusOr<Answer> answer =
                             ReceiveAnswer(self->socket_.native_handle());
                         if (absl::IsUnavailable(answer.status())) return self->WaitForAnswers();
                         // Descriptors that could not be received: the request runs into its limit.
                         if (absl::IsDataLoss(answer.status())) continue;
                         // A type of a later keeper.
                         if (absl::IsUnimplemented(answer.status())) continue;
                         if (!answer.ok()) return self->Disconnect(answer.status());
                         self->Dispatch(*std::move(answer));
                       }
                     });
}

bool KeeperClient::Session::TakeNotice(const KeeperMessage& message) {
  if (message.type == KeeperType::kExited) {
    exits_.push_back(message.exit);
    DeliverExits();
  } else if (message.type == KeeperType::kShutdown) {
    shutdown_asked_ = true;
    DeliverShutdown();
  } else if (message.type == KeeperType::kReload) {
    reload_asked_ = true;
    DeliverReload();
  } else {
    return false;
  }
  return true;
}

void KeeperClient::Session::Dispatch(Answer answer) {
  if (TakeNotice(answer.message)) return;
  const auto found = pending_.find(answer.message.sequence);
  if (found == pending_.end()) return;  // answered after its limit
  const Done done = std::move(found->second.done);
  pending_.erase(found);
  if (answer.message.type == KeeperType::kError) return done(ErrorOf(answer.message));
  done(std::move(answer));
}

void KeeperClient::Session::DeliverExits() {
  while (on_exit && !exits_.empty()) {
    const ExitNotice notice = std::move(exits_.front());
    exits_.pop_front();
    // Copied: the handler may set another one, or end the client.
    const auto handler = on_exit;
    handler(ToRecord(notice));
    KeeperMessage acknowledge{.type = KeeperType::kAcknowledge};
    acknowledge.big_number = notice.record;
    if (!closed_) Tell(acknowledge);
  }
}

void KeeperClient::Session::DeliverShutdown() {
  const auto handler = on_shutdown;
  if (handler && std::exchange(shutdown_asked_, false)) handler();
}

void KeeperClient::Session::DeliverReload() {
  const auto handler = on_reload;
  if (handler && std::exchange(reload_asked_, false)) handler();
}

void KeeperClient::Session::ArmTimer() {
  if (pending_.empty()) {
    timer_.cancel();
    return;
  }
  SteadyTime least = pending_.begin()->second.deadline;
  for (const auto& [sequence, pending] : pending_) least = std::min(least, pending.deadline);
  timer_.expires_after(absl::ToChronoNanoseconds(least - SystemClock().Steady()));
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->closed_) self->ExpireRequests();
  });
}

void KeeperClient::Session::ExpireRequests() {
  const SteadyTime now = SystemClock().Steady();
  std::vector<Done> expired;
  for (auto item = pending_.begin(); item != pending_.end();) {
    const bool late = item->second.deadline <= now;
    if (late) expired.push_back(std::move(item->second.done));
    item = late ? pending_.erase(item) : std::next(item);
  }
  ArmTimer();
  for (const Done& done : expired) {
    if (!closed_) done(absl::DeadlineExceededError("the keeper does not answer"));
  }
}

void KeeperClient::Session::Disconnect(const absl::Status& status) {
  boost::system::error_code ignored;  // as in Close
  socket_.close(ignored);
  timer_.cancel();
  outgoing_.clear();
  const absl::Status reason =
      absl::UnavailableError(absl::StrCat("the keeper is gone: ", status.message()));
  for (auto& [sequence, pending] : std::exchange(pending_, {})) {
    if (!closed_) pending.done(reason);
  }
  const auto handler = std::exchange(on_disconnect, nullptr);
  if (!closed_ && handler) handler(reason);
}

KeeperClient::KeeperClient(std::shared_ptr<Session> session) : session_(std::move(session)) {}

KeeperClient::~KeeperClient() { session_->Close(); }

absl::StatusOr<std::pair<std::unique_ptr<KeeperClient>, Inheritance>> KeeperClient::Connect(
    boost::asio::io_context& loop, UniqueFd socket, absl::Duration limit) {
  // Nothing that this process starts or becomes may inherit it, and no send may wait.
  const int flags = fcntl(socket.get(), F_GETFL);
  if (flags < 0 || fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0 ||
      fcntl(socket.get(), F_SETFD, FD_CLOEXEC) != 0) {
    return ErrnoStatus(errno, "fcntl", "the keeper's socket");
  }
  auto session = std::make_shared<Session>(loop, std::move(socket));
  COHOST_ASSIGN_OR_RETURN(Inheritance inheritance, session->List(limit));
  session->Start();
  return std::make_pair(std::unique_ptr<KeeperClient>(new KeeperClient(std::move(session))),
                        std::move(inheritance));
}

void KeeperClient::Launch(ProcessSpec spec,
                          std::function<void(absl::StatusOr<LaunchedProcess>)> done) {
  std::vector<int> descriptors;
  for (const auto& [number, fd] : spec.descriptors) descriptors.push_back(fd);
  const std::string name = spec.name;
  session_->Request(
      {.type = KeeperType::kSpawn, .spawn = ToRequest(spec)}, descriptors, kSpawnLimit,
      [session = session_.get(), name, done = std::move(done)](absl::StatusOr<Answer> answer) {
        if (answer.ok() && answer->message.type == KeeperType::kSpawned) {
          return done(LaunchedProcess{static_cast<pid_t>(answer->message.number),
                                      std::move(answer->descriptors.front()),
                                      std::move(answer->message.remarks)});
        }
        // Nobody knows a process that starts after all: it must not stay.
        if (absl::IsDeadlineExceeded(answer.status())) {
          session->Tell({.type = KeeperType::kEnd, .name = name});
        }
        done(answer.ok() ? absl::InternalError("the keeper gave a wrong answer") : answer.status());
      });
}

void KeeperClient::Kill(const std::string& name, std::function<void(absl::Status)> done) {
  session_->Request(
      {.type = KeeperType::kEnd, .name = name}, {}, kKillLimit,
      [done = std::move(done)](absl::StatusOr<Answer> answer) { done(answer.status()); });
}

void KeeperClient::OnExit(std::function<void(const ExitRecord&)> handler) {
  session_->on_exit = std::move(handler);
  session_->Post([session = session_.get()] { session->DeliverExits(); });
}

void KeeperClient::Hold(const std::string& name, const std::string& blob,
                        const std::vector<int>& descriptors,
                        std::function<void(absl::Status)> done) {
  session_->Request(
      {.type = KeeperType::kHold, .name = name, .text = blob}, descriptors, kLimit,
      [done = std::move(done)](absl::StatusOr<Answer> answer) { done(answer.status()); });
}

void KeeperClient::Release(const std::string& name) {
  session_->Tell({.type = KeeperType::kRelease, .name = name});
}

void KeeperClient::OnShutdown(std::function<void()> handler) {
  session_->on_shutdown = std::move(handler);
  session_->Post([session = session_.get()] { session->DeliverShutdown(); });
}

void KeeperClient::OnReload(std::function<void()> handler) {
  session_->on_reload = std::move(handler);
  session_->Post([session = session_.get()] { session->DeliverReload(); });
}

void KeeperClient::OnDisconnect(std::function<void(absl::Status)> handler) {
  session_->on_disconnect = std::move(handler);
}

void KeeperClient::ReportReady(std::string_view json_line) {
  KeeperMessage message{.type = KeeperType::kReady, .text = std::string(json_line)};
  if (message.text.size() > kMaxReadyLine) message.text = R"({"truncated":true})";
  session_->Tell(message);
}

void KeeperClient::ReportShutdownComplete(int exit_code) {
  KeeperMessage message{.type = KeeperType::kShutdownComplete};
  message.number = static_cast<uint32_t>(exit_code);
  session_->Tell(message);
}

}  // namespace cohost::supervisor
