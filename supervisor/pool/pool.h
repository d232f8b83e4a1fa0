// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "supervisor/pool/ledger.h"
#include "supervisor/pool/pool_parts.h"
#include "supervisor/pool/pool_target.h"
#include "supervisor/pool/worker_group.h"
#include "supervisor/process/process_launcher.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// All workers of the host. It is told what should be (Apply) and makes it so: it starts, replaces,
// drains and stops workers, one step at a time, and never more slots of a group at once than may be
// without a ready worker. Nothing here blocks. Loop thread only; everything in PoolParts outlives
// it. Ending it ends no worker: they are the keeper's, and the next pool adopts them.
//
// Order of a worker's birth, so that a supervisor killed between any two steps loses nothing:
//   1. segment and link are made     2. the keeper holds both as "link/<group>/<slot>/<generation>"
//   3. the keeper is asked to spawn "worker/<group>/<slot>/<generation>"
// and of its death: 1. its totals are folded into the ledger 2. what is left of it is killed
//   3. the held entry is released     4. the exit record is acknowledged by the launcher.
// A held entry without a process never lived or is dead: folded and released. A process without a
// held entry cannot be ours any more: killed.
class Pool final : public GroupHost {
 public:
  using Recycled =
      std::function<void(std::vector<std::string> recycled, std::vector<std::string> failed)>;

  explicit Pool(const PoolParts& parts);
  ~Pool() override;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Once, before everything else: takes "ledger" and "link/..." out of `inheritance.held` and
  // "worker/..." out of `inheritance.processes`, and says hello to every living worker. With an
  // empty inheritance it makes a fresh ledger. Entries that cannot be understood are folded as far
  // as possible, ended and reported as events; a failure of the ledger itself is returned.
  absl::Status Adopt(Inheritance& inheritance);

  // The new wanted state; cannot fail. Call it in the turn of the loop in which the listeners were
  // committed.
  void Apply(PoolTarget target);

  // Every exit record whose name begins with "worker/". Unknown names are fine.
  void HandleExit(const ExitRecord& record);

  // Replaces the workers of a group, or of one slot, one at a time. NOT_FOUND for unknown ones.
  // `done` gets "group/slot" of each; it may take as long as the start timeouts.
  absl::Status Recycle(const std::string& group, std::optional<uint32_t> slot, RecycleReason reason,
                       Recycled done);
  // An operator's start: forgets that the service died while loading and that its worker is backed
  // off, and acts at once.
  void RetryService(uint64_t service_id);
  // The service is gone for ever, from history too.
  void ForgetService(uint64_t service_id);

  // Drains every worker at most `limit`, stops all, and calls `done` when nothing is left or
  // "cannot be stopped". Later Apply calls do nothing.
  void StopAll(absl::Duration limit, std::function<void()> done);

  // Of every slot that is asked for this revision of the service.
  std::vector<SlotRollout> RolloutOf(uint64_t service_id, uint64_t revision) const;

  // Every wanted service of every slot is ready or failed, and no replacement is under way.
  bool settled() const;

  // Adds all of WorkerView except memory, cpu and threads; of the services and groups that are in
  // the snapshot already (by id, by name) what workers know: status, reason, totals, gauges,
  // warm-up, counts of workers; and remarks.
  void FillSnapshot(HostSnapshot& snapshot);

  // GroupHost
  bool MayRemove(const std::string& group, uint64_t service_id) const override;
  bool MayAssign(const std::string& group, const ServiceTarget& service) const override;
  bool IsOverloaded() const override;
  void RearmSiblings(const Generation& gone) override;
  void FoldAndRelease(const GenerationId& id, SegmentReader* segment) override;
  void CountRestart(const GenerationId& id, RecycleReason reason) override;
  uint32_t LastGeneration(const std::string& group, uint32_t slot) const override;
  void Changed() override;

 private:
  void Converge();
  void HoldLedger();
  // Makes room in the ledger, and has the keeper hold it anew when it grew.
  absl::Status MakeRoom(uint32_t services, uint32_t slots);
  absl::Status AdoptLedger(std::vector<HeldEntry>& held);
  void AdoptWorker(HeldEntry entry, std::vector<RunningProcess>& processes);
  void AdoptDead(const GenerationId& id, HeldEntry entry);
  void RemoveLeftFolders();
  void EndStrangers(std::vector<RunningProcess>& processes);
  void CheckLogs();
  void CheckStopped();
  WorkerGroup& GroupNamed(const std::string& name);
  template <typename Function>
  void ForEachSlot(Function function) const;
  template <typename Function>
  void ForEachGeneration(Function function) const;
  void Tell(const std::string& message) const;

  // Set in the constructor, never changed.
  const PoolParts parts_;
  // Loop thread only.
  std::optional<Ledger> ledger_;
  std::map<std::string, std::unique_ptr<WorkerGroup>> groups_;
  bool stopping_ = false;
  std::function<void()> stopped_;
  Timer converge_timer_;
  Timer log_timer_;
  Timer ledger_timer_;
  // Ends with this object; answers of the holder that come later look at it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cohost::supervisor
