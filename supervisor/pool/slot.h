// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "supervisor/pool/pool_parts.h"
#include "supervisor/pool/pool_target.h"
#include "supervisor/pool/strikes.h"
#include "supervisor/pool/worker.h"
#include "supervisor/pool/worker_log.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// How far one slot is with one revision of one service.
struct SlotRollout {
  enum class State { kWaiting, kServes, kFailed };
  uint32_t slot = 0;
  State state = State::kWaiting;
  std::string why;  // of kFailed
};

// What groups and slots ask of the pool: everything that reaches beyond one group.
class GroupHost {
 public:
  virtual ~GroupHost() = default;
  // Whether a group that no longer wants a service may take it from its workers: where it is wanted
  // now, it is ready.
  virtual bool MayRemove(const std::string& group, uint64_t service_id) const = 0;
  // False while another copy lives that this service cannot have beside it.
  virtual bool MayAssign(const std::string& group, const ServiceTarget& service) const = 0;
  // Most workers miss their probes together.
  virtual bool IsOverloaded() const = 0;
  virtual void RearmSiblings(const Generation& gone) = 0;
  // `segment` may be null: nothing was counted.
  virtual void FoldAndRelease(const GenerationId& id, SegmentReader* segment) = 0;
  virtual void CountRestart(const GenerationId& id, RecycleReason reason) = 0;
  // The newest generation of the slot that is in the ledger.
  virtual uint32_t LastGeneration(const std::string& group, uint32_t slot) const = 0;
  // Somebody should converge; soon, never inside the call.
  virtual void Changed() = 0;
};

// One slot of a group: the worker that serves, the one that will replace it, and those that finish
// what they have. Converge is called whenever something changed, looks at all of it, and takes the
// next steps. Loop thread only.
class Slot final : public WorkerHost {
 public:
  // Generations beyond the serving and the starting one; a further one costs the oldest its drain.
  static constexpr size_t kMaxRetired = 2;

  Slot(const PoolParts& parts, GroupHost& host, const GroupTarget& target, uint32_t number);
  ~Slot() override;

  void SetTarget(const GroupTarget& target);
  // The slot or its group is not wanted any more; it ends when its services may go.
  void Abandon() { wanted_ = false; }

  // `may_replace`: no other slot of the group is being replaced. Returns whether this one is.
  bool Converge(bool may_replace);
  // Nothing lives in it and nothing is going to.
  bool empty() const;
  bool settled() const;
  bool replacing() const;

  // The oldest generation first.
  absl::Status Adopt(const GenerationId& id, HeldEntry entry, pid_t pid);
  // One that died while no supervisor was there; `suspects` were being loaded.
  void AdoptDead(const GenerationId& id, const GenerationRecord& record,
                 const std::vector<uint64_t>& suspects);
  // False when there is no such generation here.
  bool HandleExit(const GenerationId& id, const ExitRecord& record);
  // `done` gets whether a new generation serves.
  void Recycle(RecycleReason reason, std::function<void(bool)> done);
  void RetryService(uint64_t service_id);
  // Everything ends: drain at most `limit`, then stop.
  void End(absl::Duration limit);
  void CheckLog();

  // Every worker with a process, the oldest first.
  std::vector<Worker*> Workers() const;
  bool Wants(uint64_t service_id) const;
  bool Serves(uint64_t service_id) const;
  // Nothing when the slot is not asked for this revision.
  std::optional<SlotRollout> RolloutOf(uint64_t service_id, uint64_t revision) const;
  // Hosted by a worker that finishes, or, with `stuck_only`, by one that cannot be stopped.
  bool Retains(uint64_t service_id, bool stuck_only) const;
  // Why a service that should be here is not tried; empty: it is.
  std::string FailureOf(const ServiceTarget& service) const { return strikes_.Against(service); }
  // Whether a service of the target is for this slot at all.
  bool BelongsHere(const ServiceTarget& service) const;
  bool serves() const { return serving_ != nullptr && serving_->serves(); }
  // How the last generation ended that nobody had asked to; empty: none did.
  const std::string& last_exit() const { return last_exit_; }
  const std::string& log_path() const { return log_.path(); }

  // WorkerHost
  GenerationId NextGeneration(RecycleReason reason) override;
  GenerationRecord NextRecord(RecycleReason reason) override;
  const GroupTarget& target() const override { return target_; }
  uint32_t slot_number() const override { return number_; }
  int log_file() override;
  void OnGenerationEnded(Generation& generation, const ExitRecord* record, bool asked_for) override;
  void WorkerChanged() override { host_.Changed(); }
  bool IsOverloaded() const override { return host_.IsOverloaded(); }
  void RearmSiblings(const Generation& generation) override { host_.RearmSiblings(generation); }

 private:
  using Services = std::vector<std::shared_ptr<const ServiceTarget>>;

  void DropEnded();
  void Promote();
  void FinishReplacement();
  // Whether the replacement may take over; `why` not, when it may not.
  bool IsAcceptable(std::string& why) const;
  void Reject(const std::string& why);
  void Retire(std::unique_ptr<Worker> worker);
  void CutOldest();
  bool EndUnwanted();
  // The services of the target that this slot should have.
  Services Wanted() const;
  Services WantedFor(const Worker& worker) const;
  // kNone when the worker is as the target wants it.
  RecycleReason ReplaceReason(const Worker& worker) const;
  bool Overlaps() const;
  void Replace(RecycleReason reason);
  void Begin();
  void Push();
  void Blame(Generation& generation, const ExitRecord& record);
  void FinishRecycle(bool served);
  void Tell(const std::string& kind, uint32_t generation, const std::string& message) const;
  std::unique_ptr<Worker> MakeWorker();

  // Set in the constructor, never changed.
  const PoolParts& parts_;
  GroupHost& host_;
  const uint32_t number_;
  const WorkerLog log_;
  // Loop thread only.
  GroupTarget target_;
  bool wanted_ = true;
  bool ending_ = false;
  uint32_t last_generation_ = 0;
  std::unique_ptr<Worker> serving_;               // or starting, while nothing else is
  std::unique_ptr<Worker> incoming_;              // prepared while serving_ serves
  std::vector<std::unique_ptr<Worker>> retired_;  // the oldest first
  RecycleReason asked_ = RecycleReason::kNone;    // a recycle that was asked for
  // Why the next worker starts that replaces none; kNone: the slot is new.
  RecycleReason next_reason_ = RecycleReason::kNone;
  bool restarting_ = false;  // stop-then-start is under way
  std::vector<std::function<void(bool)>> recycled_;
  std::string rejected_;  // why the last replacement was rejected; empty once one serves
  // How a worker ended unasked that was started for the present target; empty: none did.
  std::string died_;
  uint32_t last_before_target_ = 0;  // generations up to this one were started for another target
  RestartBackoff reject_backoff_;
  Timer reject_timer_;  // runs: no replacement is tried
  Strikes strikes_;
  std::string last_exit_;
  UniqueFd log_file_;
  bool log_told_ = false;
};

}  // namespace cohost::supervisor
