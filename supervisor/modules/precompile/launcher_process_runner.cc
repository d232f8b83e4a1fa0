// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/precompile/launcher_process_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/unique_fd.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/post.hpp"

namespace cohost::supervisor {

namespace {

// The launcher gives up after 10 s itself; a loop that does not run any more is not waited for.
constexpr absl::Duration kKillLimit = absl::Seconds(15);

struct Tool {
  const char* program;
  std::vector<std::string> arguments;
};

absl::Status CheckPurpose(const std::string& purpose) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (!purpose.empty() && purpose.size() <= 40 &&
      std::all_of(purpose.begin(), purpose.end(), allowed)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("a program is run for no purpose that can be a name");
}

}  // namespace

std::vector<std::string> LowPriorityCommand(const std::string& program,
                                            const std::vector<std::string>& arguments) {
  const Tool tools[] = {{"/usr/bin/nice", {"-n", "19"}},
                        {"/usr/bin/chrt", {"--batch", "0"}},
                        {"/usr/bin/ionice", {"-c", "3"}}};
  std::vector<std::string> command;
  for (const Tool& tool : tools) {
    if (::access(tool.program, X_OK) != 0) continue;
    command.emplace_back(tool.program);
    command.insert(command.end(), tool.arguments.begin(), tool.arguments.end());
  }
  command.push_back(program);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

// One Run, shared by its caller and the loop.
class LauncherProcessRunner::Call {
 public:
  static absl::StatusOr<std::shared_ptr<Call>> Make(std::string name, const RunRequest& request) {
    auto call = std::make_shared<Call>();
    call->name = name;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe2", name);
    call->output = UniqueFd(ends[0]);
    call->input = UniqueFd(ends[1]);
    if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return ErrnoStatus(errno, "fcntl", name);
    call->wake = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!call->wake.valid()) return ErrnoStatus(errno, "eventfd", name);
    call->spec.name = std::move(name);
    std::vector<std::string> command = {request.program};
    command.insert(command.end(), request.arguments.begin(), request.arguments.end());
    if (request.low_priority) command = LowPriorityCommand(request.program, request.arguments);
    call->spec.program = command[0];
    call->spec.arguments = std::move(command);
    call->spec.environment = request.environment;
    call->spec.identity = request.identity;
    call->spec.limits.memory = request.memory;
    // The first to go when memory is short: it serves nobody.
    call->spec.limits.oom_score_adjust = 900;
    return call;
  }

  // The first end counts. Any thread.
  void End(absl::StatusOr<ExitRecord> end) {
    {
      MutexLock lock(mutex_);
      if (end_.has_value()) return;
      end_ = std::move(end);
    }
    (void)::eventfd_write(wake.get(), 1);  // ignoring: it cannot be full
  }
  std::optional<absl::StatusOr<ExitRecord>> end() {
    MutexLock lock(mutex_);
    return end_;
  }

  // Set before the loop sees it; the loop closes `input`.
  std::string name;
  ProcessSpec spec;
  UniqueFd input;
  // The caller's.
  UniqueFd output;
  UniqueFd wake;

 private:
  Mutex mutex_;
  std::optional<absl::StatusOr<ExitRecord>> end_ ABSL_GUARDED_BY(mutex_);
};

struct LauncherProcessRunner::State {
  ProcessLauncher& launcher;
  // Loop thread only.
  std::map<std::string, std::shared_ptr<Call>> running{};
  bool stopped = false;
  // Any thread.
  std::atomic<uint64_t> next{1};

  // False once everything was stopped: the call is not to be made.
  bool Admit(const std::shared_ptr<Call>& call) {
    MutexLock lock(mutex);
    if (!closed) waiting.insert(call);
    return !closed;
  }
  void Leave(const std::shared_ptr<Call>& call) {
    MutexLock lock(mutex);
    waiting.erase(call);
  }
  // For callers that the loop never came to: it may not run any more.
  void CancelAll() {
    std::set<std::shared_ptr<Call>> calls;
    {
      MutexLock lock(mutex);
      closed = true;
      calls.swap(waiting);
    }
    for (const auto& call : calls) call->End(absl::CancelledError("the supervisor ends"));
  }

  Mutex mutex{};
  bool closed ABSL_GUARDED_BY(mutex) = false;
  std::set<std::shared_ptr<Call>> waiting ABSL_GUARDED_BY(mutex){};
};

namespace {

// Takes what is there; what is beyond the limit is read too, so that the program goes on. False at
// the end.
bool ReadOutput(int fd, Bytes most, RunResult& result) {
  char part[16 * 1024];
  for (;;) {
    const ssize_t n = ::read(fd, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    const size_t room = most.count - std::min<size_t>(most.count, result.output.size());
    const size_t taken = std::min(room, static_cast<size_t>(n));
    result.output.append(part, taken);
    result.output_cut |= taken < static_cast<size_t>(n);
  }
}

}  // namespace

LauncherProcessRunner::LauncherProcessRunner(boost::asio::io_context& loop,
                                             ProcessLauncher& launcher, uint32_t incarnation)
    : loop_(loop),
      prefix_(absl::StrCat(kNamePrefix, incarnation, "/")),
      state_(new State{.launcher = launcher}) {}

LauncherProcessRunner::~LauncherProcessRunner() { Stop(); }

bool LauncherProcessRunner::HandleExit(const ExitRecord& record) {
  if (!record.name.starts_with(kNamePrefix)) return false;
  const auto running = state_->running.find(record.name);
  if (running == state_->running.end()) return true;
  const std::shared_ptr<Call> call = std::move(running->second);
  state_->running.erase(running);
  // What it started may still run; its caller goes on when nothing does.
  state_->launcher.Kill(record.name, [call, record](absl::Status killed) {
    if (killed.ok()) {
      call->End(record);
    } else {
      call->End(killed);
    }
  });
  return true;
}

void LauncherProcessRunner::KillLeftovers(const std::vector<RunningProcess>& processes) {
  for (const RunningProcess& process : processes) {
    if (!process.name.starts_with(kNamePrefix) || process.name.starts_with(prefix_)) continue;
    // Ignoring the result: nothing waits for it, and the launcher tries for seconds.
    state_->launcher.Kill(process.name, [](absl::Status) {});
  }
}

void LauncherProcessRunner::Stop() {
  state_->stopped = true;
  for (const auto& [name, call] : std::exchange(state_->running, {})) {
    call->End(absl::CancelledError("the supervisor ends"));
    Kill(state_, call);
  }
  state_->CancelAll();
}

void LauncherProcessRunner::Begin(const std::shared_ptr<State>& state,
                                  const std::shared_ptr<Call>& call) {
  // Whatever happens here, the other holders of the pipe's end are the program's.
  const UniqueFd input = std::move(call->input);
  if (state->stopped) return call->End(absl::CancelledError("the supervisor ends"));
  if (call->end().has_value()) return;  // its caller gave up before the loop came to it
  state->running[call->name] = call;
  call->spec.descriptors = {{1, input.get()}, {2, input.get()}};
  state->launcher.Launch(std::move(call->spec),
                         [state, call](absl::StatusOr<LaunchedProcess> launched) {
                           if (launched.ok()) return;
                           state->running.erase(call->name);
                           call->End(launched.status());
                         });
}

void LauncherProcessRunner::Kill(const std::shared_ptr<State>& state,
                                 const std::shared_ptr<Call>& call) {
  state->launcher.Kill(call->name, [call](absl::Status killed) {
    // When it was not its exit that ended it.
    call->End(killed.ok() ? absl::CancelledError("it was killed") : killed);
  });
}

absl::StatusOr<RunResult> LauncherProcessRunner::Run(const RunRequest& request) {
  COHOST_RETURN_IF_ERROR(CheckPurpose(request.purpose));
  COHOST_ASSIGN_OR_RETURN(
      const std::shared_ptr<Call> call,
      Call::Make(absl::StrCat(prefix_, request.purpose, "-", state_->next++), request));
  if (!state_->Admit(call)) return absl::CancelledError("the supervisor ends");
  const absl::Cleanup leave = [state = state_, call] { state->Leave(call); };
  boost::asio::post(loop_, [state = state_, call] { Begin(state, call); });
  RunResult result;
  SteadyTime deadline = SystemClock().Steady() + request.limit;
  bool timed_out = false;
  bool open = true;
  while (!call->end().has_value()) {
    const absl::Duration left = deadline - SystemClock().Steady();
    if (left <= absl::ZeroDuration()) {
      if (timed_out) break;
      timed_out = true;
      deadline = SystemClock().Steady() + kKillLimit;
      boost::asio::post(loop_, [state = state_, call] { Kill(state, call); });
      continue;
    }
    // A negative descriptor is not waited for.
    struct pollfd polls[2] = {{open ? call->output.get() : -1, POLLIN, 0},
                              {call->wake.get(), POLLIN, 0}};
    const int64_t wait = std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1, 60'000);
    if (::poll(polls, 2, static_cast<int>(wait)) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "poll", call->name);
    }
    if (open && polls[0].revents != 0)
      open = ReadOutput(call->output.get(), request.most_output, result);
  }
  if (timed_out) {
    call->End(absl::CancelledError("nobody waits for it"));
    return absl::DeadlineExceededError(absl::StrCat("'", request.program, "' did not end within ",
                                                    absl::FormatDuration(request.limit)));
  }
  if (open) ReadOutput(call->output.get(), request.most_output, result);
  COHOST_ASSIGN_OR_RETURN(const ExitRecord record, *call->end());
  result.exit_code = record.exit_code;
  result.signal = record.signal;
  result.out_of_memory = record.out_of_memory;
  return result;
}

}  // namespace cohost::supervisor
