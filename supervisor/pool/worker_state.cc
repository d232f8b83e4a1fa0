// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/worker_state.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {
namespace {

using Action = WorkerAction;
using Event = WorkerEvent;
using State = WorkerStatus;
using Result = absl::StatusOr<Transition>;

absl::Status Illegal(State state, Event event) {
  return absl::FailedPreconditionError(
      absl::StrCat("a worker that is ", Name(state), " cannot have the event ", Name(event)));
}

Transition Spawn() { return {State::kStarting, {Action::kSpawn, Action::kStartStartTimer}}; }
Transition Drain() { return {State::kDraining, {Action::kSendDrain, Action::kStartDrainTimer}}; }
Transition Stop() { return {State::kStopping, {Action::kSendStop, Action::kStartStopTimer}}; }
Transition BackOff() { return {State::kBackoff, {Action::kScheduleRetry}}; }
Transition Gone() { return {State::kAbsent, {Action::kRetire}}; }
Transition Stay(State state) { return {state, {}}; }
// What cannot be killed is not declared dead: it stays where it is, and killed again.
Transition Alarm(State state) { return {state, {Action::kRaiseAlarm, Action::kStartStopTimer}}; }

Result FromAbsent(Event event) {
  switch (event) {
    case Event::kStart:
      return Spawn();
    case Event::kAdopt:
      return Transition{State::kStarting, {Action::kStartStartTimer}};
    case Event::kDrain:
    case Event::kStop:
      return Gone();
    case Event::kSpawnFailed:
    case Event::kSettled:
    case Event::kStartTimeout:
    case Event::kExited:
    case Event::kFaulted:
    case Event::kHealthLost:
    case Event::kHealthRegained:
    case Event::kDrained:
    case Event::kDrainTimeout:
    case Event::kStopTimeout:
    case Event::kKillFailed:
    case Event::kRetryDue:
    case Event::kGiveUp:
      break;
  }
  return Illegal(State::kAbsent, event);
}

Result FromStarting(Event event) {
  switch (event) {
    case Event::kSettled:
      return Transition{State::kReady, {Action::kServe}};
    case Event::kSpawnFailed:
    case Event::kExited:
      return BackOff();
    // The exit that follows the kill leads to the back-off.
    case Event::kStartTimeout:
    case Event::kFaulted:
      return Transition{State::kStarting, {Action::kKill}};
    case Event::kDrain:
      return Drain();
    case Event::kStop:
      return Stop();
    case Event::kKillFailed:
      return Alarm(State::kStarting);
    case Event::kStopTimeout:
      return Transition{State::kStarting, {Action::kKill}};
    case Event::kStart:
    case Event::kHealthLost:
    case Event::kHealthRegained:
      return Stay(State::kStarting);
    case Event::kAdopt:
    case Event::kDrained:
    case Event::kDrainTimeout:
    case Event::kRetryDue:
    case Event::kGiveUp:
      break;
  }
  return Illegal(State::kStarting, event);
}

// Ready and unhealthy differ only in what health does.
Result FromServing(State state, Event event) {
  switch (event) {
    case Event::kHealthLost:
      return state == State::kReady ? Transition{State::kUnhealthy, {Action::kAskReplace}}
                                    : Stay(state);
    case Event::kHealthRegained:
      return Stay(State::kReady);
    case Event::kExited:
      return BackOff();
    case Event::kFaulted:
    case Event::kStopTimeout:
      return Transition{state, {Action::kKill}};
    case Event::kKillFailed:
      return Alarm(state);
    case Event::kDrain:
      return Drain();
    case Event::kStop:
      return Stop();
    // It may settle again after services were added in place.
    case Event::kSettled:
    case Event::kStart:
      return Stay(state);
    case Event::kAdopt:
    case Event::kSpawnFailed:
    case Event::kStartTimeout:
    case Event::kDrained:
    case Event::kDrainTimeout:
    case Event::kRetryDue:
    case Event::kGiveUp:
      break;
  }
  return Illegal(state, event);
}

Result FromDraining(Event event) {
  switch (event) {
    case Event::kDrained:
    case Event::kDrainTimeout:
    case Event::kStop:
      return Stop();
    case Event::kExited:
    // A stop that overtook the launch.
    case Event::kSpawnFailed:
      return Gone();
    case Event::kFaulted:
      return Transition{State::kStopping, {Action::kKill, Action::kStartStopTimer}};
    case Event::kDrain:
    case Event::kSettled:
    case Event::kHealthLost:
    case Event::kHealthRegained:
      return Stay(State::kDraining);
    case Event::kKillFailed:
      return Alarm(State::kDraining);
    case Event::kStopTimeout:
      return Transition{State::kDraining, {Action::kKill}};
    case Event::kStart:
    case Event::kAdopt:
    case Event::kStartTimeout:
    case Event::kRetryDue:
    case Event::kGiveUp:
      break;
  }
  return Illegal(State::kDraining, event);
}

Result FromStopping(Event event) {
  switch (event) {
    case Event::kExited:
    case Event::kSpawnFailed:
      return Gone();
    case Event::kFaulted:
    case Event::kStopTimeout:
      return Transition{State::kStopping, {Action::kKill}};
    case Event::kKillFailed:
      return Alarm(State::kStopping);
    case Event::kStop:
    case Event::kDrain:
    case Event::kDrained:
    case Event::kSettled:
    case Event::kHealthLost:
    case Event::kHealthRegained:
      return Stay(State::kStopping);
    case Event::kStart:
    case Event::kAdopt:
    case Event::kStartTimeout:
    case Event::kDrainTimeout:
    case Event::kRetryDue:
    case Event::kGiveUp:
      break;
  }
  return Illegal(State::kStopping, event);
}

Result FromBackoff(Event event) {
  switch (event) {
    case Event::kStart:
    case Event::kRetryDue:
      return Spawn();
    case Event::kDrain:
    case Event::kStop:
      return Gone();
    case Event::kGiveUp:
      return Stay(State::kFailed);
    case Event::kAdopt:
    case Event::kSpawnFailed:
    case Event::kSettled:
    case Event::kStartTimeout:
    case Event::kExited:
    case Event::kFaulted:
    case Event::kHealthLost:
    case Event::kHealthRegained:
    case Event::kDrained:
    case Event::kDrainTimeout:
    case Event::kStopTimeout:
    case Event::kKillFailed:
      break;
  }
  return Illegal(State::kBackoff, event);
}

Result FromFailed(Event event) {
  switch (event) {
    case Event::kStart:
      return Spawn();
    case Event::kDrain:
    case Event::kStop:
      return Gone();
    case Event::kAdopt:
    case Event::kSpawnFailed:
    case Event::kSettled:
    case Event::kStartTimeout:
    case Event::kExited:
    case Event::kFaulted:
    case Event::kHealthLost:
    case Event::kHealthRegained:
    case Event::kDrained:
    case Event::kDrainTimeout:
    case Event::kStopTimeout:
    case Event::kKillFailed:
    case Event::kRetryDue:
    case Event::kGiveUp:
      break;
  }
  return Illegal(State::kFailed, event);
}

}  // namespace

absl::StatusOr<Transition> Next(WorkerStatus state, WorkerEvent event) {
  switch (state) {
    case State::kAbsent:
      return FromAbsent(event);
    case State::kStarting:
      return FromStarting(event);
    case State::kReady:
    case State::kUnhealthy:
      return FromServing(state, event);
    case State::kDraining:
      return FromDraining(event);
    case State::kStopping:
      return FromStopping(event);
    case State::kBackoff:
      return FromBackoff(event);
    case State::kFailed:
      return FromFailed(event);
  }
  return Illegal(state, event);
}

const char* Name(WorkerEvent event) {
  switch (event) {
    case Event::kStart:
      return "start";
    case Event::kAdopt:
      return "adopt";
    case Event::kSpawnFailed:
      return "spawn_failed";
    case Event::kSettled:
      return "settled";
    case Event::kStartTimeout:
      return "start_timeout";
    case Event::kExited:
      return "exited";
    case Event::kFaulted:
      return "faulted";
    case Event::kHealthLost:
      return "health_lost";
    case Event::kHealthRegained:
      return "health_regained";
    case Event::kDrain:
      return "drain";
    case Event::kDrained:
      return "drained";
    case Event::kDrainTimeout:
      return "drain_timeout";
    case Event::kStop:
      return "stop";
    case Event::kStopTimeout:
      return "stop_timeout";
    case Event::kKillFailed:
      return "kill_failed";
    case Event::kRetryDue:
      return "retry_due";
    case Event::kGiveUp:
      return "give_up";
  }
  return "unknown";
}

}  // namespace cohost::supervisor
