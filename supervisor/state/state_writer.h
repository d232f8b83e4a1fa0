// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "supervisor/state/state.h"
#include "supervisor/state/state_file.h"

namespace cohost::supervisor {

// The queue of State and what its thread does with it: the only user of the database. Thread-safe;
// Run is the thread. Everything queued is done in its order.
class StateWriter {
 public:
  // Changes what is known.
  using Change = std::function<void(StateSnapshot& known)>;
  // Writes a change; `known` has it already. `keep` is how many revisions to keep.
  using Apply = std::function<absl::Status(Database&, const StateSnapshot& known, size_t keep)>;
  // Reads; keeps what it has read for its `done`. Called again when the file was set aside.
  using Query = std::function<absl::Status(Database&)>;

  StateWriter(OpenedDatabase opened, State::Options options);

  // See State for what the callbacks may do and when they run.
  void Write(Change change, Apply apply, State::Done done);
  void Read(Query query, State::Done done);
  uint64_t Append(HostEvent event);
  uint64_t dropped_events() const;

  // Until Finish and the queue is empty.
  void Run();
  // True when Run has ended within `limit`.
  bool Finish(absl::Duration limit);

 private:
  struct DurableWrite {
    Change change;
    Apply apply;
    State::Done done;
  };
  struct DatabaseQuery {
    Query query;
    State::Done done;
  };
  using Task = std::variant<HostEvent, DurableWrite, DatabaseQuery>;
  struct Batch {
    std::deque<Task> tasks;
    uint64_t dropped = 0;
    bool closing = false;
  };

  // Why a task with a callback cannot be queued; OK when it can.
  absl::Status Room() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Batch NextBatch();

  // State thread only.
  void DoBatch(Batch batch);
  void WriteEvents(const std::vector<HostEvent>& events);
  absl::Status TryWriteEvents(const std::vector<HostEvent>& events);
  void DoWrite(DurableWrite& write);
  void DoQuery(DatabaseQuery& query);
  // Runs `apply` in one transaction.
  absl::Status Transaction(bool durable, const std::function<absl::Status()>& apply);
  // True when the damaged file was set aside and a new one holds what is known.
  bool Recover(const absl::Status& why);
  void ReserveEventIds(uint64_t next);
  void Tell(std::string notice);

  // Set in the constructor, never changed.
  const State::Options options_;

  // State thread only.
  std::unique_ptr<Database> database_;
  StateSnapshot known_;
  size_t events_since_trim_ = 0;
  bool history_failed_ = false;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Task> queue_ ABSL_GUARDED_BY(mutex_);
  size_t queued_events_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t queued_calls_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_event_id_ ABSL_GUARDED_BY(mutex_);
  uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t dropped_untold_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace cohost::supervisor
