// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/snapshot.h"

// The life of a worker as a pure function; Worker (worker.h) is its one caller and does what the
// actions say.
//
//   absent -> starting -> ready <-> unhealthy
//                |  |       |           |
//                |  +-------+-----+-----+---> draining -> stopping -> absent
//                |          |     |
//                +----------+-----+---> backoff -> starting
//                                         +-----> failed
namespace cohost::supervisor {

enum class WorkerEvent {
  kStart,           // wanted, or an operator says so: acts at once, whatever the back-off
  kAdopt,           // it lived before this supervisor did
  kSpawnFailed,     // the keeper could not start the process
  kSettled,         // every service that it was given is ready or failed
  kStartTimeout,    // no progress for the start timeout
  kExited,          // the process is gone
  kFaulted,         // it broke the link's rules, or does not answer on it
  kHealthLost,      // several probes in a row unanswered, or its counters fell
  kHealthRegained,  //
  kDrain,           // a replacement serves, or the slot goes
  kDrained,         // nothing is in flight any more
  kDrainTimeout,    //
  kStop,            // without drain
  kStopTimeout,     //
  kKillFailed,      // something of it survived SIGKILL
  kRetryDue,        // the back-off's time has come
  kGiveUp,          // too many attempts: the policy of rapid failures says so
};

enum class WorkerAction {
  kSpawn,
  kStartStartTimer,
  kServe,       // it is ready: a predecessor may drain
  kAskReplace,  // a replacement is wanted
  kSendDrain,
  kStartDrainTimer,
  kSendStop,
  kStartStopTimer,
  kKill,
  kScheduleRetry,
  kRaiseAlarm,  // "cannot be stopped"
  kRetire,      // nothing is left of it
};

struct Transition {
  WorkerStatus next = WorkerStatus::kAbsent;
  std::vector<WorkerAction> actions;
};

// What `event` does to a worker in `state`. FAILED_PRECONDITION naming both for a pair that has no
// meaning; nothing changes then.
absl::StatusOr<Transition> Next(WorkerStatus state, WorkerEvent event);

const char* Name(WorkerEvent event);

}  // namespace cohost::supervisor
