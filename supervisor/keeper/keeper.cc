// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/keeper.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/pidfd.h"
#include "base/system/resident_pages.h"
#include "base/system/seqpacket.h"
#include "supervisor/keeper/cgroup.h"
#include "supervisor/keeper/child_processes.h"

extern char** environ;

namespace cohost::supervisor {
namespace {

// The supervisor's socket to the keeper, in the supervisor.
constexpr int kSupervisorSocket = 3;
// What a supervisor of uid 0 keeps: bind low ports, read the deployment's and the services' files,
// own unix sockets, signal workers of other users and read their memory figures.
constexpr uint64_t kSupervisorCapabilities = 1U << 0 |   // CAP_CHOWN
                                             1U << 2 |   // CAP_DAC_READ_SEARCH
                                             1U << 3 |   // CAP_FOWNER
                                             1U << 5 |   // CAP_KILL
                                             1U << 10 |  // CAP_NET_BIND_SERVICE
                                             1U << 19;   // CAP_SYS_PTRACE
// The kernel takes workers for memory before the two that could restart them (MEM-02).
constexpr int kSupervisorOomScore = -900;
// For the last processes after SIGKILL.
constexpr absl::Duration kEndLimit = absl::Seconds(5);
// For a supervisor that is done, or has closed its socket, to exit by itself.
constexpr absl::Duration kSupervisorExitLimit = absl::Seconds(2);
constexpr absl::Duration kRetryPause = absl::Milliseconds(5);

std::string DefaultSupervisor() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0) return "/usr/bin/cohost-supervisor";
  const std::string own(path, static_cast<size_t>(length));
  return own.substr(0, own.find_last_of('/')) + "/cohost-supervisor";
}

// False when the reader has stopped reading. In pieces that a pipe takes without waiting once it
// polls writable.
bool WriteInPieces(int fd, std::string_view text) {
  constexpr int kPatienceMilliseconds = 1000;
  while (!text.empty()) {
    pollfd writable{fd, POLLOUT, 0};
    if (poll(&writable, 1, kPatienceMilliseconds) != 1) return false;
    const ssize_t written = write(fd, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

}  // namespace

Keeper::Keeper(Environment environment, const Clock& clock, Log& log)
    : options_(std::move(environment.options)),
      supervisor_program_(options_.supervisor.empty() ? DefaultSupervisor() : options_.supervisor),
      open_files_(environment.open_files),
      clock_(clock),
      log_(log),
      signals_(std::move(environment.signals)),
      start_(clock.Steady()),
      processes_(clock, *this, std::move(environment.cgroups), OwnCgroupPrefix(start_),
                 environment.open_files),
      inventory_(processes_),
      ready_fd_(options_.ready_fd) {
  for (size_t i = 0; i < environment.activated.size(); ++i) {
    std::vector<UniqueFd> descriptors;
    descriptors.push_back(std::move(environment.activated[i].socket));
    inventory_.Hold(absl::StrCat("activation/", i), environment.activated[i].name,
                    std::move(descriptors));
  }
}

int Keeper::Run() {
  StartSupervisor();
  while (phase_ != Phase::kEnding || supervisor_pid_ != 0 || !processes_.empty()) {
    if (phase_ == Phase::kEnding && clock_.Steady() >= phase_deadline_) {
      log_.Error("processes do not end after SIGKILL; leaving them");
      return 2;
    }
    WaitAndDispatch();
  }
  KillStrayChildren();
  Reap();
  return exit_code_;
}

// --- the supervisor's life

absl::StatusOr<StartedChild> Keeper::ForkSupervisor() {
  COHOST_ASSIGN_OR_RETURN(SocketPair sockets, MakeSeqpacketPair());
  ChildPlan plan;
  plan.program = supervisor_program_;
  plan.arguments = {supervisor_program_};
  plan.arguments.insert(plan.arguments.end(), options_.passed_on.begin(), options_.passed_on.end());
  plan.environment = OwnEnvironment();
  plan.descriptors = {{1, 1}, {2, 2}, {kSupervisorSocket, sockets.second.get()}};
  plan.open_files_soft = open_files_.rlim_cur;
  plan.open_files_hard = open_files_.rlim_max;
  plan.oom_score_adjust = kSupervisorOomScore;
  plan.capabilities = kSupervisorCapabilities;
  COHOST_ASSIGN_OR_RETURN(StartedChild child, StartChild(plan));
  connection_ = Connection(std::move(sockets.first));
  return child;
}

void Keeper::StartSupervisor() {
  restart_at_.reset();
  supervisor_start_ = clock_.Steady();
  absl::StatusOr<StartedChild> child = ForkSupervisor();
  if (!child.ok()) {
    // Held descriptors and processes stay: the next try may find memory or numbers again.
    log_.Error("cannot start the supervisor", {{"reason", AsStd(child.status().message())}});
    if (!was_ready_) return BeginEnding(2);
    restart_at_ = supervisor_start_ + restart_policy_.DelayAfter(absl::ZeroDuration());
    return;
  }
  supervisor_pid_ = child->pid;
  supervisor_pidfd_ = std::move(child->pidfd);
  supervisor_start_pipe_ = std::move(child->start_pipe);
  ++supervisor_starts_;
  if (phase_ == Phase::kDraining) connection_.Send({.type = KeeperType::kShutdown});
}

void Keeper::CheckSupervisorStart() {
  const absl::Status status =
      ReadStartError(supervisor_start_pipe_.get(),
                     options_.supervisor.empty() ? DefaultSupervisor() : options_.supervisor);
  if (absl::IsUnavailable(status)) return;
  supervisor_start_pipe_.Reset();
  if (status.ok()) return;
  log_.Error("cannot start the supervisor", {{"reason", AsStd(status.message())}});
  if (!was_ready_) BeginEnding(2);
}

void Keeper::OnSupervisorExited(int status) {
  if (supervisor_start_pipe_.valid()) CheckSupervisorStart();
  // What it had sent before it died still counts: descriptors to hold, records acknowledged. Flush
  // finds that nobody reads any more and empties the queue, so that all of it is read.
  inventory_.ForgetSupervisor();
  connection_.Flush();
  if (connection_.open()) ReadRequests();
  connection_.Close();
  inventory_.ForgetSupervisor();
  supervisor_pid_ = 0;
  supervisor_pidfd_.Reset();
  supervisor_start_pipe_.Reset();
  processes_.ForgetSequences();
  kill_supervisor_at_.reset();
  if (phase_ == Phase::kEnding) return;

  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (phase_ == Phase::kDraining && code == 0) return BeginEnding(0);
  if (!was_ready_ && (code == 1 || code == 2)) return BeginEnding(code);
  const absl::Duration alive = clock_.Steady() - supervisor_start_;
  const absl::Duration delay = restart_policy_.DelayAfter(alive);
  restart_at_ = clock_.Steady() + delay;
  log_.Warning("the supervisor ended; starting the next one",
               {{"exit_code", int64_t{code}},
                {"signal", int64_t{WIFSIGNALED(status) ? WTERMSIG(status) : 0}},
                {"alive_seconds", absl::ToDoubleSeconds(alive)},
                {"delay_seconds", absl::ToDoubleSeconds(delay)}});
}

void Keeper::DropSupervisor(std::string_view reason) {
  connection_.Close();
  inventory_.ForgetSupervisor();
  if (supervisor_pid_ == 0 || phase_ == Phase::kEnding) return;
  log_.Error("ending the supervisor", {{"reason", reason}});
  // Ignoring the result: it may have ended by itself. The restart follows when it is reaped.
  (void)SignalPidfd(supervisor_pidfd_.get(), SIGKILL);
}

// --- signals and children

void Keeper::ReadSignals() {
  signalfd_siginfo info{};
  bool children = false;
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) children = true;
    if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) OnTerminate();
    if (info.ssi_signo == SIGHUP) connection_.Send({.type = KeeperType::kReload});
  }
  if (children) Reap();
}

void Keeper::OnTerminate() {
  if (phase_ == Phase::kServing && (supervisor_pid_ != 0 || restart_at_)) {
    phase_ = Phase::kDraining;
    phase_deadline_ = clock_.Steady() + options_.drain_limit;
    log_.Info("draining", {{"limit_seconds", absl::ToDoubleSeconds(options_.drain_limit)}});
    connection_.Send({.type = KeeperType::kShutdown});
    // One that waits for its restart is wanted now: it has to drain.
    if (restart_at_) restart_at_ = clock_.Steady();
  } else if (phase_ == Phase::kDraining) {
    log_.Info("asked again: ending at once");
    BeginEnding(0);
    kill_supervisor_at_ = clock_.Steady();
  }
}

void Keeper::Reap() {
  while (true) {
    int status = 0;
    rusage usage{};
    const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) return;  // none ended, or none there
    if (pid == supervisor_pid_) {
      OnSupervisorExited(status);
    } else {
      processes_.OnReaped(pid, status, usage);
    }
  }
}

void Keeper::BeginEnding(int exit_code) {
  if (phase_ == Phase::kEnding) return;
  phase_ = Phase::kEnding;
  exit_code_ = exit_code;
  const SteadyTime now = clock_.Steady();
  phase_deadline_ = now + kEndLimit + kSupervisorExitLimit;
  kill_supervisor_at_ = now + kSupervisorExitLimit;
  restart_at_.reset();
  processes_.EndAll();
}

void Keeper::KillStrayChildren() const {
  for (const pid_t pid : ChildProcesses()) {
    // Our own child keeps its number until we reap it.
    const UniqueFd pidfd = OpenPidfd(pid);
    if (pidfd.valid()) (void)SignalPidfd(pidfd.get(), SIGKILL);
  }
}

// --- requests

void Keeper::ReadRequests() {
  // While the queue is long the supervisor has to read first. Not once it is dead: then nothing is
  // queued any more, and what it sent is bounded by the socket.
  while (connection_.open() && connection_.has_room() && !inventory_.listing()) {
    absl::StatusOr<Message> message = connection_.Receive();
    if (absl::IsUnavailable(message.status())) return;
    if (absl::IsDataLoss(message.status())) {
      connection_.Send(ErrorMessage(0, absl::ResourceExhaustedError(message.status().message())));
      continue;
    }
    if (!message.ok()) {
      // It is about to exit, and its exit code is wanted: it gets the time.
      connection_.Close();
      kill_supervisor_at_ = clock_.Steady() + kSupervisorExitLimit;
      return;
    }
    const auto header = DecodeKeeperHeader(message->bytes, message->descriptors.size());
    if (!header.ok()) return DropSupervisor(AsStd(header.status().message()));
    const auto request = DecodeKeeperMessage(*header, message->bytes);
    if (request.ok()) {
      Handle(*request, std::move(message->descriptors));
    } else {
      Reply(header->sequence, request.status());
    }
  }
}

void Keeper::Handle(const KeeperMessage& request, std::vector<UniqueFd> descriptors) {
  switch (request.type) {
    case KeeperType::kList: {
      KeeperMessage begin{.type = KeeperType::kListBegin, .sequence = request.sequence};
      begin.number = supervisor_starts_ - 1;
      begin.big_number = static_cast<uint64_t>(start_.nanoseconds);
      return inventory_.BeginList(request.sequence, begin, connection_);
    }
    case KeeperType::kSpawn:
      if (phase_ == Phase::kEnding) {
        return Reply(request.sequence, absl::UnavailableError("the keeper ends"));
      }
      return processes_.Spawn(request.spawn, descriptors, request.sequence);
    case KeeperType::kHold:
      inventory_.Hold(request.name, request.text, std::move(descriptors));
      return Reply(request.sequence, absl::OkStatus());
    case KeeperType::kRelease:
      inventory_.Release(request.name);
      return Reply(request.sequence, absl::OkStatus());
    case KeeperType::kEnd:
      return processes_.End(request.name, request.sequence);
    case KeeperType::kAcknowledge:
      inventory_.Acknowledge(request.big_number);
      return;
    case KeeperType::kReady:
      return ReportReady(request.text);
    case KeeperType::kShutdownComplete:
      return BeginEnding(static_cast<int>(request.number));
    case KeeperType::kDone:
    case KeeperType::kError:
    case KeeperType::kSpawned:
    case KeeperType::kListBegin:
    case KeeperType::kHeldEntry:
    case KeeperType::kRunning:
    case KeeperType::kListEnd:
    case KeeperType::kExited:
    case KeeperType::kShutdown:
    case KeeperType::kReload:
      return Reply(request.sequence,
                   absl::InvalidArgumentError("keeper: an answer, not a request"));
  }
}

void Keeper::ReportReady(std::string line) {
  if (!was_ready_) ReleaseStartupPages();
  was_ready_ = true;
  if (!ready_fd_.valid()) return;
  line += '\n';
  if (!WriteInPieces(ready_fd_.get(), line)) {
    log_.Warning("the ready line could not be written", {{"descriptor", int64_t{ready_fd_.get()}}});
  }
  ready_fd_.Reset();
}

void Keeper::Reply(uint64_t sequence, const absl::Status& status) {
  connection_.Send(status.ok() ? KeeperMessage{.type = KeeperType::kDone, .sequence = sequence}
                               : ErrorMessage(sequence, status));
}

void Keeper::OnSpawned(uint64_t sequence, pid_t pid, int pidfd,
                       const std::vector<std::string>& remarks) {
  auto descriptors = std::make_shared<std::vector<UniqueFd>>();
  descriptors->emplace_back(fcntl(pidfd, F_DUPFD_CLOEXEC, 0));
  KeeperMessage message{.type = KeeperType::kSpawned, .sequence = sequence};
  message.number = static_cast<uint32_t>(pid);
  message.remarks = remarks;
  connection_.Send(message, std::move(descriptors));
}

void Keeper::OnSpawnFailed(uint64_t sequence, const absl::Status& status) {
  Reply(sequence, status);
}

void Keeper::OnExited(ExitNotice notice) {
  inventory_.AddExit(std::move(notice));
  inventory_.Pump(connection_);
}

void Keeper::OnEnded(uint64_t sequence, const absl::Status& status) { Reply(sequence, status); }

// --- the loop

absl::Duration Keeper::UntilNextDeadline() const {
  const SteadyTime now = clock_.Steady();
  absl::Duration least = processes_.UntilTick();
  if (restart_at_) least = std::min(least, *restart_at_ - now);
  if (phase_ != Phase::kServing) least = std::min(least, phase_deadline_ - now);
  if (kill_supervisor_at_) least = std::min(least, *kill_supervisor_at_ - now);
  if (connection_.retry_soon()) least = std::min(least, kRetryPause);
  return std::max(least, absl::ZeroDuration());
}

void Keeper::CheckDeadlines() {
  const SteadyTime now = clock_.Steady();
  if (phase_ == Phase::kDraining && now >= phase_deadline_) {
    log_.Warning("the drain limit has passed: ending what is left");
    BeginEnding(2);
    kill_supervisor_at_ = now;
  }
  if (kill_supervisor_at_ && now >= *kill_supervisor_at_) {
    kill_supervisor_at_.reset();
    if (supervisor_pid_ != 0) (void)SignalPidfd(supervisor_pidfd_.get(), SIGKILL);
  }
  if (restart_at_ && now >= *restart_at_) StartSupervisor();
}

void Keeper::WaitAndDispatch() {
  std::vector<pollfd> polls = {{signals_.get(), POLLIN, 0}};
  if (connection_.open()) {
    const bool reading = connection_.has_room() && !inventory_.listing();
    const bool writing = connection_.wants_to_write() && !connection_.retry_soon();
    polls.push_back({connection_.socket(),
                     static_cast<short>((reading ? POLLIN : 0) | (writing ? POLLOUT : 0)), 0});
  }
  if (supervisor_start_pipe_.valid()) polls.push_back({supervisor_start_pipe_.get(), POLLIN, 0});
  processes_.AddPolls(polls);

  const absl::Duration wait = UntilNextDeadline();
  // Rounded up, so that the loop does not spin through the last millisecond.
  const int milliseconds =
      wait == absl::InfiniteDuration()
          ? -1
          : static_cast<int>(std::min<int64_t>(
                absl::ToInt64Milliseconds(wait + absl::Nanoseconds(999'999)), 3'600'000));
  if (poll(polls.data(), polls.size(), milliseconds) < 0 && errno != EINTR) {
    log_.Error("poll failed", {{"errno", int64_t{errno}}});
    return BeginEnding(2);
  }
  ReadSignals();
  if (supervisor_start_pipe_.valid()) CheckSupervisorStart();
  if (connection_.open()) inventory_.Pump(connection_);
  if (connection_.open()) ReadRequests();
  processes_.Tick();
  CheckDeadlines();
}

}  // namespace cohost::supervisor
