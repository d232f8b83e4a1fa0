// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "supervisor/host_event.h"
#include "supervisor/state/saved_state.h"

namespace cohost::supervisor {

class Database;

// What outlives the supervisor: revisions, placement, service numbers, operators' stops and events,
// in a SQLite file (format: database.h) that only a thread of this class touches. The rest of the
// program never waits for the disk: writes are posted. Thread-safe; made for the loop thread.
//
// Durable writes are on the disk when their `done` runs with OK; history (events) is written in
// order, may lose its last moments in a power cut, and is dropped and counted when the disk is
// slower than the events. When the file turns out to be damaged it is set aside under another name
// and a new one gets everything that is known. Where there is no writable file the state lives in
// memory and says so.
class State {
 public:
  // Runs on the state thread (or, when nothing could be queued, inside the call): post to the loop
  // there, do not block.
  using Done = std::function<void(absl::Status)>;
  template <typename T>
  using ReadDone = std::function<void(absl::StatusOr<T>)>;
  using EventsDone = ReadDone<std::vector<HostEvent>>;
  // One line about something an operator should know (a file set aside, history dropped, a failed
  // write of history). Runs on the state thread.
  using Notice = std::function<void(std::string)>;

  struct Options {
    // Absolute; empty: in memory only, for tests.
    std::string path;
    size_t max_events = 100'000;  // older ones are deleted
    size_t max_revisions = 1'000;
    size_t max_queued_events = 4'096;
    Notice notice;
  };
  struct Opened {
    std::unique_ptr<State> state;
    StateSnapshot snapshot;
    // What was wrong with the file, one line each; empty when nothing was.
    std::vector<std::string> notices;
  };

  // Reads the file in the calling thread. Always succeeds: a file that cannot be used is set aside.
  static Opened Open(Options options);

  // Flushes for at most two seconds; call Close to choose.
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Durable, and one transaction: what the applied deployment led to. RESOURCE_EXHAUSTED (at once)
  // when more than 256 durable writes wait.
  void SaveDeployment(DeploymentChange change, Done done);
  void SaveOperatorStop(std::string service, OperatorStop stop, Done done);
  void ClearOperatorStop(std::string service, Done done);

  // Returns the event's id, which is greater than all before, also those of earlier processes.
  uint64_t AppendEvent(HostEvent event);
  // Oldest first, at most `limit`. Sees every event that was appended before.
  void ReadEventsAfter(uint64_t id, size_t limit, EventsDone done);
  // The last `count`, oldest first.
  void ReadLastEvents(size_t count, EventsDone done);

  // Revisions of the host, the newest first, at most `limit`; without their texts.
  void ReadRevisions(size_t limit, ReadDone<std::vector<StateRevision>> done);
  // One with its text. NOT_FOUND when it is not kept.
  void ReadRevision(uint64_t revision, ReadDone<StateRevision> done);
  // Of one service, the newest first, at most `limit`; empty when it was never deployed here.
  void ReadChanges(std::string service, size_t limit, ReadDone<std::vector<ServiceChange>> done);
  // What was in force in that revision, by service.
  void ReadChangesAt(uint64_t revision, ReadDone<std::map<std::string, ServiceChange>> done);
  // Of every file that a kept change of some service names.
  void ReadHashes(ReadDone<std::set<std::string>> done);
  void ReadModules(ReadDone<std::map<std::string, ModuleRecord>> done);
  // The files are not in the module store any more.
  void ForgetModules(std::set<std::string> hashes, Done done);

  // Events lost because the queue was full, since the start.
  uint64_t dropped_events() const;

  // Takes nothing new, writes what is queued and ends the thread. DEADLINE_EXCEEDED when the disk
  // is slower than `limit`; then the thread is left to end by itself. The second call does nothing.
  absl::Status Close(absl::Duration limit);

 private:
  class Core;
  template <typename T>
  void Read(std::function<absl::StatusOr<T>(Database&)> query, ReadDone<T> done);
  explicit State(std::shared_ptr<Core> core);

  // Shared with the thread, which may outlive this object when the disk hangs.
  const std::shared_ptr<Core> core_;
};

}  // namespace cohost::supervisor
