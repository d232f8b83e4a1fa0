// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/worker_group.h"

#include <algorithm>
#include <utility>

namespace cohost::supervisor {

namespace {

// The one that services of `instances: one` are in.
constexpr uint32_t kCanarySlot = 0;

}  // namespace

WorkerGroup::WorkerGroup(const PoolParts& parts, GroupHost& host, std::string name)
    : parts_(parts), host_(host) {
  target_.name = std::move(name);
}

void WorkerGroup::Apply(const GroupTarget& target) {
  target_ = target;
  wanted_ = true;
  GroupTarget rest = target;
  for (auto& service : rest.services) {
    if (target.before_canary != nullptr && service->id == target.before_canary->id) {
      service = target.before_canary;
    }
  }
  for (uint32_t number = 0; number < target.policy.workers; ++number) SlotAt(number);
  for (const auto& [number, slot] : slots_) {
    slot->SetTarget(number == kCanarySlot ? target : rest);
    if (number >= target.policy.workers) slot->Abandon();
  }
}

void WorkerGroup::Abandon() {
  wanted_ = false;
  target_.services.clear();
  for (const auto& [number, slot] : slots_) slot->Abandon();
}

void WorkerGroup::End(absl::Duration limit) {
  for (const auto& [number, slot] : slots_) slot->End(limit);
}

void WorkerGroup::Converge() {
  // The slot that is being replaced goes first, so that no other one begins before it is done.
  size_t replacing = std::count_if(slots_.begin(), slots_.end(),
                                   [](const auto& slot) { return slot.second->replacing(); });
  for (const auto& [number, slot] : slots_) {
    const bool was = slot->replacing();
    const bool is = slot->Converge(was ? replacing <= 1 : replacing == 0);
    replacing = replacing + (is ? 1 : 0) - (was ? 1 : 0);
  }
  std::erase_if(slots_, [this](const auto& slot) {
    return slot.second->empty() && (!wanted_ || slot.first >= target_.policy.workers);
  });
}

bool WorkerGroup::settled() const {
  return std::all_of(slots_.begin(), slots_.end(), [this](const auto& slot) {
    return slot.first >= target_.policy.workers || !wanted_ || slot.second->settled();
  });
}

absl::Status WorkerGroup::Adopt(const GenerationId& id, HeldEntry entry, pid_t pid) {
  return SlotAt(id.slot).Adopt(id, std::move(entry), pid);
}

void WorkerGroup::AdoptDead(const GenerationId& id, const GenerationRecord& record,
                            const std::vector<uint64_t>& suspects) {
  SlotAt(id.slot).AdoptDead(id, record, suspects);
}

bool WorkerGroup::HandleExit(const GenerationId& id, const ExitRecord& record) {
  const auto slot = slots_.find(id.slot);
  return slot != slots_.end() && slot->second->HandleExit(id, record);
}

bool WorkerGroup::Wants(uint64_t service_id) const {
  return wanted_ && std::any_of(target_.services.begin(), target_.services.end(),
                                [service_id](const auto& s) { return s->id == service_id; });
}

bool WorkerGroup::ServesEverywhere(uint64_t service_id) const {
  return std::all_of(slots_.begin(), slots_.end(), [service_id](const auto& slot) {
    return !slot.second->Wants(service_id) || slot.second->Serves(service_id);
  });
}

Slot& WorkerGroup::SlotAt(uint32_t number) {
  std::unique_ptr<Slot>& slot = slots_[number];
  if (slot == nullptr) slot = std::make_unique<Slot>(parts_, host_, target_, number);
  return *slot;
}

}  // namespace cohost::supervisor
