// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/processes.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/system/pidfd.h"
#include "supervisor/keeper/child_processes.h"

namespace cohost::supervisor {
namespace {

// From fork to exec; only a file system that hangs takes longer.
constexpr absl::Duration kStartLimit = absl::Seconds(10);
// How long a request to end a process waits for its last descendant (HLT-06).
constexpr absl::Duration kEndLimit = absl::Seconds(5);
// Between two looks at what is left of a process: soon first, since SIGKILL works at once.
constexpr absl::Duration kFirstPause = absl::Milliseconds(1);
constexpr absl::Duration kLongestPause = absl::Milliseconds(100);

uint64_t Nanoseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_usec) * 1'000;
}

}  // namespace

struct Processes::Entry {
  std::string name;
  std::string program;
  pid_t pid = 0;
  UniqueFd pidfd;
  bool alive = false;  // forked and not reaped
  std::unique_ptr<Cgroup> cgroup;

  // While it starts.
  UniqueFd start_pipe;
  SteadyTime start_deadline;
  uint64_t spawn_sequence = 0;
  std::vector<std::string> remarks;
  // The request was answered with the reason: no exit record on top.
  bool failure_answered = false;

  // While it is being ended.
  bool ending = false;
  SteadyTime end_deadline;
  SteadyTime next_round;
  absl::Duration pause;
  std::vector<uint64_t> end_sequences;
  // Orphans that were killed and not yet reaped: their own children are adopted only then.
  std::set<pid_t> killed_orphans;
};

Processes::Processes(const Clock& clock, ProcessListener& listener, CgroupLayout layout,
                     std::string cgroup_prefix, rlimit open_files)
    : clock_(clock),
      listener_(listener),
      layout_(std::move(layout)),
      cgroup_prefix_(std::move(cgroup_prefix)),
      open_files_(open_files) {}

Processes::~Processes() = default;

void Processes::Spawn(const SpawnRequest& request, const std::vector<UniqueFd>& descriptors,
                      uint64_t sequence) {
  if (entries_.contains(request.name)) {
    listener_.OnSpawnFailed(
        sequence, absl::AlreadyExistsError(absl::StrCat("a process '", request.name,
                                                        "' or something of it still runs")));
    return;
  }
  auto entry = std::make_unique<Entry>();
  entry->name = request.name;
  entry->program = request.program;
  entry->spawn_sequence = sequence;
  if ((request.flags & kSpawnUseCgroup) != 0) {
    entry->cgroup =
        Cgroup::Create(layout_, CgroupFolderName(cgroup_prefix_, request.name),
                       {request.memory, request.cpu_millionths, request.tasks}, entry->remarks);
  }
  Start(*entry, request, descriptors);
  if (entry->alive) entries_[request.name] = std::move(entry);
}

void Processes::Start(Entry& entry, const SpawnRequest& request,
                      const std::vector<UniqueFd>& descriptors) {
  ChildPlan plan;
  plan.program = request.program;
  plan.arguments = request.arguments;
  const std::string mark = absl::StrCat(kProcessMark, "=");
  for (const std::string& variable : request.environment) {
    if (!absl::StartsWith(variable, mark)) plan.environment.push_back(variable);
  }
  plan.environment.push_back(mark + request.name);
  for (size_t i = 0; i < descriptors.size(); ++i) {
    plan.descriptors.emplace_back(static_cast<int>(request.numbers[i]), descriptors[i].get());
  }
  if ((request.flags & kSpawnSetUid) != 0) plan.uid = request.uid;
  if ((request.flags & kSpawnSetGid) != 0) plan.gid = request.gid;
  plan.groups.assign(request.groups.begin(), request.groups.end());
  // Nobody gets more than the keeper was given: what is asked for is "as many as, if there are".
  plan.open_files_soft = request.open_files > 0
                             ? std::min<uint64_t>(request.open_files, open_files_.rlim_max)
                             : open_files_.rlim_cur;
  plan.open_files_hard = request.open_files > 0 ? plan.open_files_soft : open_files_.rlim_max;
  plan.core_size = request.core_size;
  plan.oom_score_adjust = request.oom_score_adjust;
  if (entry.cgroup != nullptr) plan.cgroup_procs = entry.cgroup->procs();

  absl::StatusOr<StartedChild> child = StartChild(plan);
  if (entry.cgroup != nullptr) entry.cgroup->CloseProcs();
  if (!child.ok()) {
    listener_.OnSpawnFailed(entry.spawn_sequence, child.status());
    return;
  }
  entry.pid = child->pid;
  entry.pidfd = std::move(child->pidfd);
  entry.start_pipe = std::move(child->start_pipe);
  entry.start_deadline = clock_.Steady() + kStartLimit;
  entry.alive = true;
}

void Processes::CheckStart(Entry& entry) {
  absl::Status status = ReadStartError(entry.start_pipe.get(), entry.program);
  if (absl::IsUnavailable(status)) {
    if (clock_.Steady() < entry.start_deadline) return;
    (void)SignalPidfd(entry.pidfd.get(), SIGKILL);  // ignoring: may have ended
    status =
        absl::DeadlineExceededError(absl::StrCat("exec '", entry.program, "': takes too long"));
  }
  entry.start_pipe.Reset();
  if (entry.spawn_sequence == 0) return;
  if (status.ok()) {
    listener_.OnSpawned(entry.spawn_sequence, entry.pid, entry.pidfd.get(), entry.remarks);
  } else {
    entry.failure_answered = true;
    listener_.OnSpawnFailed(entry.spawn_sequence, status);
  }
  entry.spawn_sequence = 0;
}

void Processes::End(const std::string& name, uint64_t sequence) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    listener_.OnEnded(sequence, absl::OkStatus());
    return;
  }
  found->second->end_sequences.push_back(sequence);
  BeginEnding(*found->second, kEndLimit);
}

void Processes::EndAll() {
  for (auto& [name, entry] : entries_) BeginEnding(*entry, kEndLimit);
}

void Processes::BeginEnding(Entry& entry, absl::Duration limit) {
  const SteadyTime now = clock_.Steady();
  entry.ending = true;
  entry.end_deadline = now + limit;
  entry.next_round = now;
  entry.pause = kFirstPause;
}

void Processes::ForgetSequences() {
  for (auto& [name, entry] : entries_) {
    entry->spawn_sequence = 0;
    entry->end_sequences.clear();
  }
}

ExitNotice Processes::MakeNotice(const Entry& entry, int status, const rusage& usage) const {
  ExitNotice notice;
  notice.name = entry.name;
  notice.pid = static_cast<uint32_t>(entry.pid);
  if (WIFEXITED(status)) {
    notice.how = ExitHow::kCode;
    notice.value = static_cast<uint32_t>(WEXITSTATUS(status));
  } else if (WIFSIGNALED(status)) {
    notice.how = ExitHow::kSignal;
    notice.value = static_cast<uint32_t>(WTERMSIG(status));
  }
  notice.out_of_memory = entry.cgroup != nullptr && entry.cgroup->OutOfMemory();
  notice.user_ns = Nanoseconds(usage.ru_utime);
  notice.system_ns = Nanoseconds(usage.ru_stime);
  return notice;
}

void Processes::OnReaped(pid_t pid, int status, const rusage& usage) {
  for (auto& [name, entry] : entries_) {
    entry->killed_orphans.erase(pid);
    if (!entry->alive || entry->pid != pid) continue;
    // The answer to the request comes before the record of the end.
    if (entry->start_pipe.valid()) CheckStart(*entry);
    entry->alive = false;
    if (!entry->failure_answered) listener_.OnExited(MakeNotice(*entry, status, usage));
    if (!entry->ending) BeginEnding(*entry, kEndLimit);
    entry->next_round = clock_.Steady();
  }
}

void Processes::AddPolls(std::vector<pollfd>& polls) const {
  for (const auto& [name, entry] : entries_) {
    if (entry->start_pipe.valid()) polls.push_back({entry->start_pipe.get(), POLLIN, 0});
  }
}

bool Processes::IsMainProcess(pid_t pid) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& item) {
    return item.second->alive && item.second->pid == pid;
  });
}

std::vector<pid_t> Processes::MarkedOrphans(const std::string& name) const {
  std::vector<pid_t> orphans;
  for (const pid_t pid : ChildProcesses()) {
    if (!IsMainProcess(pid) && CarriesMark(pid, name)) orphans.push_back(pid);
  }
  return orphans;
}

void Processes::KillRound(Entry& entry) {
  if (entry.alive) (void)SignalPidfd(entry.pidfd.get(), SIGKILL);
  if (entry.cgroup != nullptr) entry.cgroup->KillMembers();
  for (const pid_t pid : MarkedOrphans(entry.name)) {
    // Our own child keeps its number until we reap it, so the pidfd is surely its own.
    const UniqueFd pidfd = OpenPidfd(pid);
    if (!pidfd.valid() || SignalPidfd(pidfd.get(), SIGKILL) != 0) continue;
    entry.killed_orphans.insert(pid);
  }
}

bool Processes::NothingLeft(const Entry& entry) const {
  return !entry.alive && entry.killed_orphans.empty() &&
         (entry.cgroup == nullptr || entry.cgroup->Empty()) && MarkedOrphans(entry.name).empty();
}

bool Processes::ContinueEnding(Entry& entry, SteadyTime now) {
  if (!NothingLeft(entry)) {
    KillRound(entry);
    entry.next_round = now + entry.pause;
    entry.pause = std::min(entry.pause * 2, kLongestPause);
    if (now < entry.end_deadline) return false;
    // Only what the kernel does not let die survives this long. The rounds go on.
    for (const uint64_t sequence : std::exchange(entry.end_sequences, {})) {
      listener_.OnEnded(sequence,
                        absl::DeadlineExceededError(absl::StrCat("something of '", entry.name,
                                                                 "' does not end after SIGKILL")));
    }
    return false;
  }
  for (const uint64_t sequence : std::exchange(entry.end_sequences, {})) {
    listener_.OnEnded(sequence, absl::OkStatus());
  }
  return true;
}

void Processes::Tick() {
  const SteadyTime now = clock_.Steady();
  for (auto item = entries_.begin(); item != entries_.end();) {
    Entry& entry = *item->second;
    if (entry.start_pipe.valid()) CheckStart(entry);
    const bool done = entry.ending && entry.next_round <= now && ContinueEnding(entry, now);
    item = done ? entries_.erase(item) : std::next(item);
  }
}

absl::Duration Processes::UntilTick() const {
  const SteadyTime now = clock_.Steady();
  absl::Duration least = absl::InfiniteDuration();
  for (const auto& [name, entry] : entries_) {
    if (entry->start_pipe.valid()) least = std::min(least, entry->start_deadline - now);
    if (entry->ending) least = std::min(least, entry->next_round - now);
  }
  return std::max(least, absl::ZeroDuration());
}

std::optional<Processes::Living> Processes::NextLiving(const std::string& name) const {
  for (auto item = entries_.upper_bound(name); item != entries_.end(); ++item) {
    const Entry& entry = *item->second;
    if (entry.alive) return Living{entry.name, entry.pid, entry.pidfd.get()};
  }
  return std::nullopt;
}

}  // namespace cohost::supervisor
