// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/system/unique_fd.h"
#include "supervisor/keeper/cgroup.h"
#include "supervisor/keeper/child.h"
#include "supervisor/keeper/protocol.h"

namespace cohost::supervisor {

// Told of what happens to processes. `sequence` is the request's.
class ProcessListener {
 public:
  virtual ~ProcessListener() = default;
  virtual void OnSpawned(uint64_t sequence, pid_t pid, int pidfd,
                         const std::vector<std::string>& remarks) = 0;
  virtual void OnSpawnFailed(uint64_t sequence, const absl::Status& status) = 0;
  // `notice.record` is for the listener to fill in.
  virtual void OnExited(ExitNotice notice) = 0;
  virtual void OnEnded(uint64_t sequence, const absl::Status& status) = 0;
};

// The processes that the keeper started, each with its descendants. A name stays taken until
// nothing of it is left: what outlives its main process is killed, repeatedly and without being
// asked, since nobody else would. Keeper's thread only; the listener outlives it, and is never
// called from Spawn or End for what these do later.
class Processes {
 public:
  Processes(const Clock& clock, ProcessListener& listener, CgroupLayout layout,
            std::string cgroup_prefix, rlimit open_files);
  ~Processes();

  void Spawn(const SpawnRequest& request, const std::vector<UniqueFd>& descriptors,
             uint64_t sequence);
  void End(const std::string& name, uint64_t sequence);
  void EndAll();
  // The supervisor is gone: nobody waits for answers any more.
  void ForgetSequences();

  // A child was reaped, ours by name or an adopted orphan.
  void OnReaped(pid_t pid, int status, const rusage& usage);
  // Adds the descriptors to wait for.
  void AddPolls(std::vector<pollfd>& polls) const;
  // Looks at starting children and at what is due.
  void Tick();
  // When Tick has something to do; infinite: never.
  absl::Duration UntilTick() const;

  // Whether anything is left.
  bool empty() const { return entries_.empty(); }
  struct Living {
    std::string name;
    pid_t pid;
    int pidfd;
  };
  // The first living process whose name comes after `name`; none at the end.
  std::optional<Living> NextLiving(const std::string& name) const;

 private:
  struct Entry;
  void Start(Entry& entry, const SpawnRequest& request, const std::vector<UniqueFd>& descriptors);
  void CheckStart(Entry& entry);
  void KillRound(Entry& entry);
  bool NothingLeft(const Entry& entry) const;
  bool IsMainProcess(pid_t pid) const;
  std::vector<pid_t> MarkedOrphans(const std::string& name) const;
  void BeginEnding(Entry& entry, absl::Duration limit);
  // True when the entry can be forgotten.
  bool ContinueEnding(Entry& entry, SteadyTime now);
  ExitNotice MakeNotice(const Entry& entry, int status, const rusage& usage) const;

  // Set in the constructor, never changed.
  const Clock& clock_;
  ProcessListener& listener_;
  const CgroupLayout layout_;
  const std::string cgroup_prefix_;
  const rlimit open_files_;

  std::map<std::string, std::unique_ptr<Entry>> entries_;
};

}  // namespace cohost::supervisor
