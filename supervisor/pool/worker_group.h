// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/pool/pool_parts.h"
#include "supervisor/pool/pool_target.h"
#include "supervisor/pool/slot.h"

namespace cohost::supervisor {

// The slots of one group. Replaces at most one of them at a time; starts what is missing all at
// once. Loop thread only; ends when it is empty after Abandon.
class WorkerGroup {
 public:
  WorkerGroup(const PoolParts& parts, GroupHost& host, std::string name);

  void Apply(const GroupTarget& target);
  // The group is not wanted any more.
  void Abandon();
  // Everything in it ends: drain at most `limit`, then stop.
  void End(absl::Duration limit);
  void Converge();
  bool empty() const { return slots_.empty(); }
  bool settled() const;

  absl::Status Adopt(const GenerationId& id, HeldEntry entry, pid_t pid);
  void AdoptDead(const GenerationId& id, const GenerationRecord& record,
                 const std::vector<uint64_t>& suspects);
  bool HandleExit(const GenerationId& id, const ExitRecord& record);

  bool wanted() const { return wanted_; }
  const std::map<uint32_t, std::unique_ptr<Slot>>& slots() const { return slots_; }
  const GroupTarget& target() const { return target_; }
  // Whether the group's target has it.
  bool Wants(uint64_t service_id) const;
  // Every slot that wants it serves it.
  bool ServesEverywhere(uint64_t service_id) const;

 private:
  Slot& SlotAt(uint32_t number);

  // Set in the constructor, never changed.
  const PoolParts& parts_;
  GroupHost& host_;
  // Loop thread only.
  GroupTarget target_;
  bool wanted_ = false;
  std::map<uint32_t, std::unique_ptr<Slot>> slots_;
};

}  // namespace cohost::supervisor
