// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "supervisor/pool/generation/generation.h"
#include "supervisor/pool/pool_parts.h"
#include "supervisor/pool/pool_target.h"
#include "supervisor/pool/restart_backoff.h"
#include "supervisor/pool/worker_state.h"

namespace cohost::supervisor {

class Worker;

// What a worker asks of its slot.
class WorkerHost {
 public:
  virtual ~WorkerHost() = default;
  // The identity and birth record of the next process; counts the restart.
  virtual GenerationId NextGeneration(RecycleReason reason) = 0;
  virtual GenerationRecord NextRecord(RecycleReason reason) = 0;
  virtual const GroupTarget& target() const = 0;
  virtual uint32_t slot_number() const = 0;
  virtual int log_file() = 0;
  // Its process ended (or never began); the worker forgets the generation right after.
  virtual void OnGenerationEnded(Generation& generation, const ExitRecord* record,
                                 bool asked_for) = 0;
  // Its place in the slot must be looked at again. Never re-enters the worker.
  virtual void WorkerChanged() = 0;
  virtual bool IsOverloaded() const = 0;
  virtual void RearmSiblings(const Generation& generation) = 0;
};

// One place of a slot, serving or being prepared to: the one caller of the state machine
// (worker_state.h), the one setter of its state, and the doer of its actions. After an exit that
// nobody asked for it starts the next generation itself, after the back-off. Loop thread only.
class Worker final : public Generation::Observer {
 public:
  // Misses in a row before a worker counts as unhealthy.
  static constexpr uint32_t kMisses = 3;
  // Between two attempts to kill what cannot be killed.
  static constexpr absl::Duration kKillAgain = absl::Seconds(30);
  // The worker fails a slow service itself at the start timeout; a worker that does not is killed
  // so much later.
  static constexpr absl::Duration kStartMargin = absl::Seconds(5);
  // The same for drains.
  static constexpr absl::Duration kDrainMargin = absl::Seconds(2);
  // For one probe of all services of a worker.
  static constexpr absl::Duration kProbeTimeout = absl::Seconds(5);
  // Between the end of a link and the exit record that should come with it.
  static constexpr absl::Duration kExitAfterLink = absl::Seconds(1);

  Worker(const PoolParts& parts, WorkerHost& host, uint64_t seed);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void Start(RecycleReason reason);
  // Takes over a living process.
  absl::Status Adopt(const GenerationId& id, HeldEntry entry, pid_t pid);
  // Ends it after what is in flight, at most `timeout` later.
  void Drain(absl::Duration timeout);
  // Ends it without waiting for requests.
  void Stop();
  // Starts again now, whatever the back-off.
  void RetryNow();
  void HandleExit(const ExitRecord& record);
  // Nothing while there is no process.
  void SetServices(const std::vector<std::shared_ptr<const ServiceTarget>>& wanted);

  WorkerStatus status() const { return status_; }
  // Ready or unhealthy: it serves.
  bool serves() const;
  // Draining or stopping: it does not come back.
  bool ends() const;
  // Of the process; null without one.
  Generation* generation() const { return generation_.get(); }
  // It lived before this supervisor did.
  bool adopted() const { return adopted_; }
  bool cannot_be_stopped() const { return cannot_be_stopped_; }
  bool misses_probes() const { return misses_ > 0; }
  // Why the present generation was started.
  RecycleReason reason() const { return reason_; }
  std::optional<SteadyTime> next_attempt() const;
  std::optional<absl::Duration> ready_after() const { return ready_after_; }
  uint32_t failures() const { return backoff_.failures(); }

  // Generation::Observer
  void OnSpawnFailed(const absl::Status& why) override;
  void OnReported(bool draining) override;
  void OnServiceChanged(uint64_t service_id, const HostedService& service,
                        ServiceStatus before) override;
  void OnProgress() override;
  void OnIntakeStopped() override;
  void OnGenerationDrained() override;
  void OnFault(const absl::Status& why) override;
  void OnProbe(bool answered) override;
  void OnKillFailed(const absl::Status& why) override;
  void OnRemark(const std::string& text) override;

 private:
  // The one caller of Next and the one setter of status_.
  void Handle(WorkerEvent event, const std::string& why);
  void Enter(WorkerStatus next, const std::string& why);
  void Do(WorkerAction action);
  void Spawn();
  void SendStop();
  void ScheduleRetry();
  // After a random part of the health interval, at least `least` of it.
  void ScheduleProbe(double least);
  void CheckSettled();
  bool CheckSegment();
  void EndGeneration(const ExitRecord* record);
  void Tell(const std::string& kind, const std::string& message);

  // Set in the constructor, never changed.
  const PoolParts& parts_;
  WorkerHost& host_;
  // Loop thread only.
  WorkerStatus status_ = WorkerStatus::kAbsent;
  std::unique_ptr<Generation> generation_;
  RecycleReason reason_ = RecycleReason::kNone;
  RestartBackoff backoff_;
  std::mt19937_64 random_;
  bool adopted_ = false;
  SteadyTime spawned_;
  SteadyTime ready_since_;  // 0: was not ready in this generation
  SteadyTime retry_at_;
  std::optional<absl::Duration> ready_after_;
  absl::Duration ready_for_;  // of the generation that ended last
  absl::Duration drain_timeout_;
  uint32_t misses_ = 0;
  bool overload_told_ = false;
  bool cannot_be_stopped_ = false;
  // Of the state; each is cancelled when a state is entered that may not hold it.
  Timer start_timer_;
  Timer drain_timer_;
  Timer stop_timer_;
  Timer retry_timer_;
  Timer probe_timer_;
  Timer exit_timer_;
};

}  // namespace cohost::supervisor
