// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/worker_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace cohost::supervisor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Action = WorkerAction;
using Event = WorkerEvent;
using State = WorkerStatus;

constexpr std::array kStates = {State::kAbsent,    State::kStarting, State::kReady,
                                State::kUnhealthy, State::kDraining, State::kStopping,
                                State::kBackoff,   State::kFailed};
constexpr std::array kEvents = {Event::kStart,    Event::kAdopt,        Event::kSpawnFailed,
                                Event::kSettled,  Event::kStartTimeout, Event::kExited,
                                Event::kFaulted,  Event::kHealthLost,   Event::kHealthRegained,
                                Event::kDrain,    Event::kDrained,      Event::kDrainTimeout,
                                Event::kStop,     Event::kStopTimeout,  Event::kKillFailed,
                                Event::kRetryDue, Event::kGiveUp};

Transition Take(State state, Event event) {
  const absl::StatusOr<Transition> transition = Next(state, event);
  EXPECT_TRUE(transition.ok()) << transition.status();
  return transition.ok() ? *transition : Transition{};
}

TEST(WorkerState, ALifeWithoutTrouble) {
  Transition step = Take(State::kAbsent, Event::kStart);
  EXPECT_EQ(step.next, State::kStarting);
  EXPECT_THAT(step.actions, ElementsAre(Action::kSpawn, Action::kStartStartTimer));
  step = Take(step.next, Event::kSettled);
  EXPECT_EQ(step.next, State::kReady);
  EXPECT_THAT(step.actions, ElementsAre(Action::kServe));
  step = Take(step.next, Event::kDrain);
  EXPECT_EQ(step.next, State::kDraining);
  EXPECT_THAT(step.actions, ElementsAre(Action::kSendDrain, Action::kStartDrainTimer));
  step = Take(step.next, Event::kDrained);
  EXPECT_EQ(step.next, State::kStopping);
  EXPECT_THAT(step.actions, ElementsAre(Action::kSendStop, Action::kStartStopTimer));
  step = Take(step.next, Event::kExited);
  EXPECT_EQ(step.next, State::kAbsent);
  EXPECT_THAT(step.actions, ElementsAre(Action::kRetire));
}

TEST(WorkerState, AnExitThatNobodyAskedForIsRetried) {
  for (const State state : {State::kStarting, State::kReady, State::kUnhealthy}) {
    const Transition step = Take(state, Event::kExited);
    EXPECT_EQ(step.next, State::kBackoff);
    EXPECT_THAT(step.actions, ElementsAre(Action::kScheduleRetry));
  }
  EXPECT_EQ(Take(State::kStarting, Event::kSpawnFailed).next, State::kBackoff);
  EXPECT_EQ(Take(State::kBackoff, Event::kRetryDue).next, State::kStarting);
}

TEST(WorkerState, AnExitThatWasAskedForIsTheEnd) {
  for (const State state : {State::kDraining, State::kStopping}) {
    EXPECT_EQ(Take(state, Event::kExited).next, State::kAbsent);
    EXPECT_EQ(Take(state, Event::kSpawnFailed).next, State::kAbsent);
  }
}

TEST(WorkerState, AStartActsAtOnceInBackOffAndAfterFailure) {
  for (const State state : {State::kBackoff, State::kFailed}) {
    EXPECT_THAT(Take(state, Event::kStart).actions, Contains(Action::kSpawn));
  }
  EXPECT_EQ(Take(State::kBackoff, Event::kGiveUp).next, State::kFailed);
}

TEST(WorkerState, EveryLivingStateCanBeStoppedAndEndsInAKill) {
  for (const State state : {State::kStarting, State::kReady, State::kUnhealthy, State::kDraining}) {
    EXPECT_EQ(Take(state, Event::kStop).next, State::kStopping);
    EXPECT_THAT(Take(state, Event::kFaulted).actions, Contains(Action::kKill));
    EXPECT_THAT(Take(state, Event::kStopTimeout).actions, ElementsAre(Action::kKill));
  }
  EXPECT_THAT(Take(State::kStopping, Event::kStopTimeout).actions, ElementsAre(Action::kKill));
  EXPECT_THAT(Take(State::kStarting, Event::kStartTimeout).actions, ElementsAre(Action::kKill));
}

TEST(WorkerState, WhatCannotBeKilledStaysWhereItIsAndIsKilledAgain) {
  for (const State state :
       {State::kStarting, State::kReady, State::kUnhealthy, State::kDraining, State::kStopping}) {
    const Transition step = Take(state, Event::kKillFailed);
    EXPECT_EQ(step.next, state);
    EXPECT_THAT(step.actions, ElementsAre(Action::kRaiseAlarm, Action::kStartStopTimer));
  }
}

TEST(WorkerState, HealthGoesBothWaysAndAsksForAReplacementOnce) {
  const Transition lost = Take(State::kReady, Event::kHealthLost);
  EXPECT_EQ(lost.next, State::kUnhealthy);
  EXPECT_THAT(lost.actions, ElementsAre(Action::kAskReplace));
  EXPECT_THAT(Take(State::kUnhealthy, Event::kHealthLost).actions, IsEmpty());
  EXPECT_EQ(Take(State::kUnhealthy, Event::kHealthRegained).next, State::kReady);
}

TEST(WorkerState, AnIllegalPairNamesBoth) {
  const absl::StatusOr<Transition> step = Next(State::kAbsent, Event::kDrained);
  EXPECT_TRUE(absl::IsFailedPrecondition(step.status()));
  EXPECT_THAT(std::string(step.status().message()), HasSubstr("absent"));
  EXPECT_THAT(std::string(step.status().message()), HasSubstr("drained"));
}

// Over all pairs: what a state may do at all.
TEST(WorkerState, NoPairBreaksTheRules) {
  for (const State state : kStates) {
    for (const Event event : kEvents) {
      const absl::StatusOr<Transition> step = Next(state, event);
      if (!step.ok()) continue;
      const std::set<Action> actions(step->actions.begin(), step->actions.end());
      SCOPED_TRACE(std::string(Name(state)) + " at " + Name(event));
      // A process is spawned exactly on the way into starting, and never beside another one.
      EXPECT_EQ(actions.contains(Action::kSpawn), step->next == State::kStarting &&
                                                      state != State::kStarting &&
                                                      event != Event::kAdopt);
      const bool has_process = state == State::kStarting || state == State::kReady ||
                               state == State::kUnhealthy || state == State::kDraining ||
                               state == State::kStopping;
      if (actions.contains(Action::kKill) || actions.contains(Action::kSendStop) ||
          actions.contains(Action::kSendDrain)) {
        EXPECT_TRUE(has_process);
      }
      // Only the process's end, or a life that never was, leads to where there is none.
      if (has_process && (step->next == State::kAbsent || step->next == State::kBackoff)) {
        EXPECT_TRUE(event == Event::kExited || event == Event::kSpawnFailed);
      }
      // Nothing leaves draining or stopping for a state that serves.
      if (state == State::kDraining || state == State::kStopping) {
        EXPECT_TRUE(step->next == State::kDraining || step->next == State::kStopping ||
                    step->next == State::kAbsent);
      }
      // Every wait that a state begins has a timer.
      if (actions.contains(Action::kSendStop)) {
        EXPECT_TRUE(actions.contains(Action::kStartStopTimer));
      }
      if (actions.contains(Action::kSendDrain)) {
        EXPECT_TRUE(actions.contains(Action::kStartDrainTimer));
      }
    }
  }
}

TEST(WorkerState, EveryEventHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const Event event : kEvents) names.insert(Name(event));
  EXPECT_EQ(names.size(), kEvents.size());
}

}  // namespace
}  // namespace cohost::supervisor
