// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/worker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {

Worker::Worker(const PoolParts& parts, WorkerHost& host, uint64_t seed)
    : parts_(parts),
      host_(host),
      backoff_(seed),
      random_(seed),
      start_timer_(parts.timers),
      drain_timer_(parts.timers),
      stop_timer_(parts.timers),
      retry_timer_(parts.timers),
      probe_timer_(parts.timers),
      exit_timer_(parts.timers) {}

bool Worker::serves() const {
  return status_ == WorkerStatus::kReady || status_ == WorkerStatus::kUnhealthy;
}

bool Worker::ends() const {
  return status_ == WorkerStatus::kDraining || status_ == WorkerStatus::kStopping;
}

std::optional<SteadyTime> Worker::next_attempt() const {
  if (status_ != WorkerStatus::kBackoff) return std::nullopt;
  return retry_at_;
}

void Worker::Start(RecycleReason reason) {
  reason_ = reason;
  Handle(WorkerEvent::kStart, Name(reason));
}

absl::Status Worker::Adopt(const GenerationId& id, HeldEntry entry, pid_t pid) {
  generation_ = std::make_unique<Generation>(parts_, *this, id);
  const absl::Status adopted = generation_->Adopt(std::move(entry), pid);
  if (!adopted.ok()) {
    generation_.reset();
    return adopted;
  }
  reason_ = generation_->record().reason;
  adopted_ = true;
  spawned_ = parts_.clock.Steady();
  Handle(WorkerEvent::kAdopt, "found alive");
  return absl::OkStatus();
}

void Worker::Drain(absl::Duration timeout) {
  drain_timeout_ = timeout;
  Handle(WorkerEvent::kDrain, "");
}

void Worker::Stop() { Handle(WorkerEvent::kStop, ""); }

void Worker::RetryNow() {
  backoff_.Reset();
  Handle(WorkerEvent::kStart, "asked for");
}

void Worker::SetServices(const std::vector<std::shared_ptr<const ServiceTarget>>& wanted) {
  if (generation_ == nullptr || ends()) return;
  generation_->roster().SetServices(wanted, host_.target().policy);
  CheckSettled();
}

void Worker::Handle(WorkerEvent event, const std::string& why) {
  const absl::StatusOr<Transition> transition = Next(status_, event);
  if (!transition.ok()) {
    return Tell("worker_remark", std::string(transition.status().message()));
  }
  Enter(transition->next, why);
  for (const WorkerAction action : transition->actions) Do(action);
}

void Worker::Enter(WorkerStatus next, const std::string& why) {
  const WorkerStatus before = std::exchange(status_, next);
  if (before == next) return;
  if (next != WorkerStatus::kStarting) start_timer_.Cancel();
  if (next != WorkerStatus::kDraining) drain_timer_.Cancel();
  if (next != WorkerStatus::kStopping) stop_timer_.Cancel();
  if (next != WorkerStatus::kBackoff) retry_timer_.Cancel();
  if (!serves()) probe_timer_.Cancel();
  PoolEvent event;
  event.kind = "worker_state";
  event.group = host_.target().name;
  if (generation_ != nullptr) event.generation = generation_->id().number;
  event.slot = host_.slot_number();
  event.from = Name(before);
  event.to = Name(next);
  event.message = why;
  parts_.observer.OnPoolEvent(event);
  host_.WorkerChanged();
}

void Worker::Do(WorkerAction action) {
  const GroupPolicy& policy = host_.target().policy;
  switch (action) {
    case WorkerAction::kSpawn:
      return Spawn();
    case WorkerAction::kStartStartTimer:
      return start_timer_.Start(policy.start_timeout + kStartMargin, [this] {
        generation_->roster().GiveUp();
        Handle(WorkerEvent::kStartTimeout, "no progress within the start timeout");
      });
    case WorkerAction::kServe:
      ready_since_ = parts_.clock.Steady();
      ready_after_ = ready_since_ - spawned_;
      // The first probe at any time within the interval, so that workers that started together are
      // not probed together for ever.
      return ScheduleProbe(0);
    case WorkerAction::kAskReplace:
    case WorkerAction::kRetire:
      return host_.WorkerChanged();
    case WorkerAction::kSendDrain:
      return generation_->Drain(drain_timeout_);
    case WorkerAction::kStartDrainTimer:
      return drain_timer_.Start(drain_timeout_ + kDrainMargin, [this] {
        Handle(WorkerEvent::kDrainTimeout, "the drain timeout is over");
      });
    case WorkerAction::kSendStop:
      if (!generation_->Stop()) generation_->Kill();
      return;
    case WorkerAction::kStartStopTimer:
      return stop_timer_.Start(cannot_be_stopped_ ? kKillAgain : policy.stop_timeout, [this] {
        Handle(WorkerEvent::kStopTimeout, "the stop timeout is over");
      });
    case WorkerAction::kKill:
      return generation_->Kill();
    case WorkerAction::kScheduleRetry:
      return ScheduleRetry();
    case WorkerAction::kRaiseAlarm:
      cannot_be_stopped_ = true;
      return host_.WorkerChanged();
  }
}

void Worker::Spawn() {
  spawned_ = parts_.clock.Steady();
  ready_since_ = {};
  ready_after_.reset();
  misses_ = 0;
  adopted_ = false;
  generation_ = std::make_unique<Generation>(parts_, *this, host_.NextGeneration(reason_));
  generation_->Spawn(host_.target(), host_.NextRecord(reason_), host_.log_file());
  // It has no services yet; the slot knows them.
  host_.WorkerChanged();
}

void Worker::ScheduleRetry() {
  const absl::Duration delay = backoff_.DelayAfterFailure(ready_for_);
  retry_at_ = parts_.clock.Steady() + delay;
  reason_ = RecycleReason::kCrash;
  retry_timer_.Start(delay, [this] { Handle(WorkerEvent::kRetryDue, "the back-off is over"); });
}

// Probes of all workers that fall into one tenth of the interval are made at one time, at its
// beginning: spread enough for the workers, and many probes share the wake-ups of this loop and of
// gRPC's threads, which cost more than the calls.
void Worker::ScheduleProbe(double least) {
  const absl::Duration interval = host_.target().policy.health_interval;
  const double part = std::uniform_real_distribution<double>(least, 1)(random_);
  const absl::Duration now = parts_.clock.Steady() - SteadyTime{};
  const absl::Duration due = absl::Floor(now + interval * part, interval / 10);
  probe_timer_.Start(std::max(due - now, absl::ZeroDuration()), [this] {
    if (CheckSegment()) generation_->Probe(kProbeTimeout);
    ScheduleProbe(0.9);
  });
}

// False when the worker has written what it may not.
bool Worker::CheckSegment() {
  SegmentReader* segment = generation_->segment();
  // Totals are compared with the last ones as they are read.
  (void)segment->KnownTotals();
  if (segment->fault().empty()) return true;
  if (status_ == WorkerStatus::kReady) Handle(WorkerEvent::kHealthLost, segment->fault());
  return false;
}

void Worker::CheckSettled() {
  if (status_ == WorkerStatus::kStarting && generation_->roster().settled()) {
    Handle(WorkerEvent::kSettled, "");
  }
}

void Worker::HandleExit(const ExitRecord& record) {
  EndGeneration(&record);
  Handle(WorkerEvent::kExited, DescribeExit(record));
}

void Worker::OnSpawnFailed(const absl::Status& why) {
  EndGeneration(nullptr);
  Handle(WorkerEvent::kSpawnFailed, std::string(why.message()));
}

void Worker::EndGeneration(const ExitRecord* record) {
  exit_timer_.Cancel();
  ready_for_ =
      ready_since_ == SteadyTime{} ? absl::ZeroDuration() : parts_.clock.Steady() - ready_since_;
  const std::unique_ptr<Generation> ended = std::move(generation_);
  if (std::exchange(cannot_be_stopped_, false))
    Tell("worker_remark", "it could be stopped at last");
  ended->RemoveFolder();
  host_.OnGenerationEnded(*ended, record, ends());
}

void Worker::OnReported(bool draining) {
  if (draining && status_ == WorkerStatus::kStarting)
    return Drain(host_.target().policy.drain_timeout);
  // An adopted one has served all the time, whatever else it will be given.
  const auto& services = generation_->roster().services();
  const bool serving = std::any_of(services.begin(), services.end(), [](const auto& service) {
    return service.second.status == ServiceStatus::kReady;
  });
  if (adopted_ && serving && status_ == WorkerStatus::kStarting) {
    Handle(WorkerEvent::kSettled, "serves already");
  }
  CheckSettled();
  host_.WorkerChanged();
}

void Worker::OnServiceChanged(uint64_t service_id, const HostedService& service,
                              ServiceStatus before) {
  PoolEvent event;
  event.kind = "service_state";
  event.group = host_.target().name;
  event.slot = host_.slot_number();
  event.generation = generation_->id().number;
  event.service = service.name.empty() ? absl::StrCat(service_id) : service.name;
  event.from = Name(before);
  event.to = Name(service.status);
  event.message = service.reason;
  parts_.observer.OnPoolEvent(event);
  CheckSettled();
  host_.WorkerChanged();
}

void Worker::OnProgress() {
  if (status_ == WorkerStatus::kStarting) Do(WorkerAction::kStartStartTimer);
  CheckSettled();
}

void Worker::OnIntakeStopped() { host_.RearmSiblings(*generation_); }

void Worker::OnGenerationDrained() {
  if (status_ == WorkerStatus::kDraining) Handle(WorkerEvent::kDrained, "nothing in flight");
}

void Worker::OnFault(const absl::Status& why) {
  const std::string text(why.message());
  if (!absl::IsOutOfRange(why)) return Handle(WorkerEvent::kFaulted, text);
  // The link has ended, most likely with the worker; the exit record says how.
  exit_timer_.Start(kExitAfterLink, [this] {
    Handle(WorkerEvent::kFaulted, "the link is closed and the process is not");
  });
}

void Worker::OnProbe(bool answered) {
  if (answered) {
    misses_ = 0;
    overload_told_ = false;
    if (status_ == WorkerStatus::kUnhealthy && generation_->segment()->fault().empty()) {
      Handle(WorkerEvent::kHealthRegained, "answers its probes again");
    }
    return;
  }
  ++misses_;
  if (misses_ < kMisses || status_ != WorkerStatus::kReady) return;
  if (!host_.IsOverloaded()) {
    return Handle(WorkerEvent::kHealthLost, absl::StrCat(misses_, " probes missed"));
  }
  if (!std::exchange(overload_told_, true)) {
    Tell("overload", "most workers miss their probes together; nothing is done about single ones");
  }
}

void Worker::OnKillFailed(const absl::Status& why) {
  Tell("worker_remark", absl::StrCat("cannot be stopped: ", why.message()));
  Handle(WorkerEvent::kKillFailed, "");
}

void Worker::OnRemark(const std::string& text) { Tell("worker_remark", text); }

void Worker::Tell(const std::string& kind, const std::string& message) {
  PoolEvent event;
  event.kind = kind;
  event.group = host_.target().name;
  event.slot = host_.slot_number();
  if (generation_ != nullptr) event.generation = generation_->id().number;
  event.message = message;
  parts_.observer.OnPoolEvent(event);
}

}  // namespace cohost::supervisor
