// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/pool.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "supervisor/pool/generation/worker_folder.h"
#include "supervisor/pool/pool_snapshot.h"

namespace cohost::supervisor {
namespace {

constexpr char kLedgerName[] = "ledger";
// A service that writes 100 MB/s fills a file of 10 MiB in 0.1 s: files may grow beyond their limit
// by what is written between two looks.
constexpr absl::Duration kLogInterval = absl::Seconds(1);
constexpr absl::Duration kHoldAgain = absl::Seconds(1);

}  // namespace

Pool::Pool(const PoolParts& parts)
    : parts_(parts),
      converge_timer_(parts.timers),
      log_timer_(parts.timers),
      ledger_timer_(parts.timers) {
  CheckLogs();
}

Pool::~Pool() = default;

template <typename Function>
void Pool::ForEachSlot(Function function) const {
  for (const auto& [name, group] : groups_) {
    for (const auto& [number, slot] : group->slots()) function(*slot);
  }
}

template <typename Function>
void Pool::ForEachGeneration(Function function) const {
  ForEachSlot([&function](const Slot& slot) {
    for (Worker* worker : slot.Workers()) {
      if (worker->generation() != nullptr) function(*worker->generation());
    }
  });
}

absl::Status Pool::Adopt(Inheritance& inheritance) {
  COHOST_RETURN_IF_ERROR(AdoptLedger(inheritance.held));
  std::vector<HeldEntry> entries;
  for (HeldEntry& entry : inheritance.held) {
    if (absl::StartsWith(entry.name, "link/")) entries.push_back(std::move(entry));
  }
  // What was moved from has no name any more.
  std::erase_if(inheritance.held, [](const HeldEntry& entry) { return entry.name.empty(); });
  // The oldest generation of each slot first.
  std::sort(entries.begin(), entries.end(), [](const HeldEntry& a, const HeldEntry& b) {
    const auto number = [](const HeldEntry& entry) {
      const absl::StatusOr<GenerationId> id = ParseGenerationId(entry.name);
      return id.ok() ? id->number : 0;
    };
    return number(a) < number(b);
  });
  for (HeldEntry& entry : entries) AdoptWorker(std::move(entry), inheritance.processes);
  EndStrangers(inheritance.processes);
  RemoveLeftFolders();
  return absl::OkStatus();
}

absl::Status Pool::AdoptLedger(std::vector<HeldEntry>& held) {
  const auto entry = std::find_if(held.begin(), held.end(),
                                  [](const HeldEntry& e) { return e.name == kLedgerName; });
  if (entry != held.end()) {
    absl::StatusOr<Ledger> ledger = absl::InvalidArgumentError("the entry has no descriptor");
    if (entry->descriptors.size() == 1) ledger = Ledger::Open(std::move(entry->descriptors[0]));
    held.erase(entry);
    if (ledger.ok()) {
      ledger_.emplace(*std::move(ledger));
      return absl::OkStatus();
    }
    Tell(absl::StrCat("totals of ended workers are lost: ", ledger.status().message()));
  }
  COHOST_ASSIGN_OR_RETURN(Ledger fresh, Ledger::Create());
  ledger_.emplace(std::move(fresh));
  HoldLedger();
  return absl::OkStatus();
}

void Pool::AdoptWorker(HeldEntry entry, std::vector<RunningProcess>& processes) {
  const std::string name = entry.name;
  const absl::StatusOr<GenerationId> id = ParseGenerationId(name);
  if (!id.ok()) {
    Tell(std::string(id.status().message()));
    return parts_.holder.Release(name);
  }
  const auto process = std::find_if(
      processes.begin(), processes.end(),
      [&id](const RunningProcess& running) { return running.name == id->ProcessName(); });
  if (process == processes.end()) return AdoptDead(*id, std::move(entry));
  const absl::Status adopted = GroupNamed(id->group).Adopt(*id, std::move(entry), process->pid);
  if (adopted.ok()) {
    processes.erase(process);
    return;
  }
  // Its process is ended as a stranger.
  Tell(absl::StrCat(name, ": ", adopted.message()));
  FoldAndRelease(*id, nullptr);
}

// It died while no supervisor was there, or was never spawned.
void Pool::AdoptDead(const GenerationId& id, HeldEntry entry) {
  std::unique_ptr<SegmentReader> segment;
  if (entry.descriptors.size() == 2) {
    absl::StatusOr<std::unique_ptr<SegmentReader>> opened =
        SegmentReader::Open(std::move(entry.descriptors[1]));
    if (opened.ok()) segment = *std::move(opened);
  }
  if (segment == nullptr) Tell(absl::StrCat(entry.name, ": its counters are lost"));
  const absl::StatusOr<GenerationRecord> record = DecodeGenerationRecord(entry.blob);
  GroupNamed(id.group).AdoptDead(
      id, record.value_or(GenerationRecord{}),
      segment == nullptr ? std::vector<uint64_t>() : segment->LoadingServices());
  FoldAndRelease(id, segment.get());
}

// Processes named like workers that no held entry belongs to: nobody can talk to them.
void Pool::EndStrangers(std::vector<RunningProcess>& processes) {
  for (const RunningProcess& process : processes) {
    if (!absl::StartsWith(process.name, "worker/")) continue;
    Tell(absl::StrCat(process.name, " has no link: killed"));
    parts_.launcher.Kill(process.name, [](const absl::Status&) {});
  }
  std::erase_if(processes, [](const RunningProcess& process) {
    return absl::StartsWith(process.name, "worker/");
  });
}

// Of workers that ended while no supervisor was there.
void Pool::RemoveLeftFolders() {
  if (parts_.settings.worker_folders.empty()) return;
  std::set<std::string> kept;
  ForEachGeneration([&kept](const Generation& generation) { kept.insert(generation.folder()); });
  const absl::Status removed = RemoveOtherWorkerFolders(parts_.settings.worker_folders, kept);
  if (!removed.ok()) Tell(std::string(removed.message()));
}

void Pool::Apply(PoolTarget target) {
  if (stopping_) return;
  uint32_t services = 0;
  uint32_t slots = 0;
  for (const auto& [name, group] : groups_) {
    const bool wanted = std::any_of(target.groups.begin(), target.groups.end(),
                                    [&name = name](const auto& g) { return g.name == name; });
    if (!wanted) group->Abandon();
  }
  for (const GroupTarget& group : target.groups) {
    services += static_cast<uint32_t>(group.services.size());
    slots += group.policy.workers;
    GroupNamed(group.name).Apply(group);
  }
  // Early, so that the end of a worker finds room.
  const absl::Status room = MakeRoom(services, slots);
  if (!room.ok()) Tell(std::string(room.message()));
  Changed();
}

void Pool::HandleExit(const ExitRecord& record) {
  const absl::StatusOr<GenerationId> id = ParseGenerationId(record.name);
  if (!id.ok()) return;
  const auto group = groups_.find(id->group);
  if (group != groups_.end() && group->second->HandleExit(*id, record)) return Changed();
  // It ended while no supervisor was there; its entry was folded when this one began.
  PoolEvent event;
  event.kind = "worker_exit";
  event.group = id->group;
  event.slot = id->slot;
  event.generation = id->number;
  event.message = DescribeExit(record);
  parts_.observer.OnPoolEvent(event);
}

absl::Status Pool::Recycle(const std::string& group, std::optional<uint32_t> slot,
                           RecycleReason reason, Recycled done) {
  const auto found = groups_.find(group);
  if (found == groups_.end()) {
    return absl::NotFoundError(absl::StrCat("no group '", group, "'"));
  }
  std::vector<Slot*> slots;
  for (const auto& [number, candidate] : found->second->slots()) {
    if (!slot.has_value() || *slot == number) slots.push_back(candidate.get());
  }
  if (slots.empty()) return absl::NotFoundError(absl::StrCat("no such slot in '", group, "'"));
  struct Outcome {
    size_t open;
    std::vector<std::string> recycled;
    std::vector<std::string> failed;
  };
  auto outcome = std::make_shared<Outcome>(Outcome{slots.size(), {}, {}});
  for (Slot* each : slots) {
    const std::string name = absl::StrCat(group, "/", each->slot_number());
    each->Recycle(reason, [outcome, name, done](bool served) {
      (served ? outcome->recycled : outcome->failed).push_back(name);
      if (--outcome->open == 0) done(outcome->recycled, outcome->failed);
    });
  }
  return absl::OkStatus();
}

void Pool::RetryService(uint64_t service_id) {
  for (const auto& [name, group] : groups_) {
    if (!group->Wants(service_id)) continue;
    for (const auto& [number, slot] : group->slots()) slot->RetryService(service_id);
  }
}

void Pool::ForgetService(uint64_t service_id) {
  if (ledger_.has_value()) ledger_->ForgetService(service_id);
}

void Pool::StopAll(absl::Duration limit, std::function<void()> done) {
  stopping_ = true;
  stopped_ = std::move(done);
  for (const auto& [name, group] : groups_) group->End(limit);
  Changed();
}

void Pool::CheckStopped() {
  if (!stopping_ || !stopped_) return;
  bool alive = false;
  ForEachSlot([&alive](const Slot& slot) {
    for (const Worker* worker : slot.Workers()) {
      alive |= worker->status() != WorkerStatus::kAbsent && !worker->cannot_be_stopped();
    }
  });
  if (!alive) std::exchange(stopped_, nullptr)();
}

bool Pool::settled() const {
  return std::all_of(groups_.begin(), groups_.end(),
                     [](const auto& group) { return group.second->settled(); });
}

std::vector<SlotRollout> Pool::RolloutOf(uint64_t service_id, uint64_t revision) const {
  std::vector<SlotRollout> rollouts;
  ForEachSlot([&](const Slot& slot) {
    if (auto rollout = slot.RolloutOf(service_id, revision)) {
      rollouts.push_back(*std::move(rollout));
    }
  });
  return rollouts;
}

void Pool::FillSnapshot(HostSnapshot& snapshot) {
  if (!ledger_.has_value()) return;
  FillWorkers(groups_, *ledger_, parts_.clock, parts_.settings.binary_id, snapshot);
  FillServices(groups_, *ledger_, parts_.clock.Steady(), snapshot);
}

void Pool::Changed() {
  if (converge_timer_.running()) return;
  converge_timer_.Start(absl::ZeroDuration(), [this] { Converge(); });
}

void Pool::Converge() {
  for (const auto& [name, group] : groups_) group->Converge();
  for (auto group = groups_.begin(); group != groups_.end();) {
    if (!group->second->empty() || group->second->wanted()) {
      ++group;
      continue;
    }
    if (ledger_.has_value()) ledger_->ForgetGroup(group->first);
    group = groups_.erase(group);
  }
  parts_.observer.OnPoolChanged();
  CheckStopped();
}

WorkerGroup& Pool::GroupNamed(const std::string& name) {
  std::unique_ptr<WorkerGroup>& group = groups_[name];
  if (group == nullptr) group = std::make_unique<WorkerGroup>(parts_, *this, name);
  return *group;
}

bool Pool::MayRemove(const std::string& group, uint64_t service_id) const {
  return std::all_of(groups_.begin(), groups_.end(), [&](const auto& other) {
    return other.first == group || !other.second->Wants(service_id) ||
           other.second->ServesEverywhere(service_id);
  });
}

bool Pool::MayAssign(const std::string& group, const ServiceTarget& service) const {
  if (service.overlap && service.instances == Instances::kAll) return true;
  for (const auto& [name, other] : groups_) {
    for (const auto& [number, slot] : other->slots()) {
      if (slot->Retains(service.id, /*stuck_only=*/service.overlap)) return false;
      if (!service.overlap && name != group && slot->Serves(service.id)) return false;
    }
  }
  return true;
}

bool Pool::IsOverloaded() const {
  uint32_t serving = 0;
  uint32_t missing = 0;
  ForEachSlot([&](const Slot& slot) {
    for (const Worker* worker : slot.Workers()) {
      if (!worker->serves()) continue;
      ++serving;
      missing += worker->misses_probes() ? 1 : 0;
    }
  });
  return serving > 1 && missing * 2 > serving;
}

void Pool::RearmSiblings(const Generation& gone) {
  ForEachGeneration([&gone](Generation& other) {
    const auto shares = [&other](uint64_t token) {
      return other.roster().tokens().contains(token);
    };
    if (&other != &gone &&
        std::any_of(gone.roster().tokens().begin(), gone.roster().tokens().end(), shares)) {
      other.Rearm();
    }
  });
}

absl::Status Pool::MakeRoom(uint32_t services, uint32_t slots) {
  COHOST_ASSIGN_OR_RETURN(const bool grew, ledger_->MakeRoom(services, slots));
  if (grew) HoldLedger();
  return absl::OkStatus();
}

void Pool::HoldLedger() {
  parts_.holder.Hold(kLedgerName, "", {ledger_->descriptor()},
                     [this, alive = std::weak_ptr<bool>(alive_)](const absl::Status& held) {
                       if (alive.expired() || held.ok()) return;
                       Tell(absl::StrCat("the keeper does not hold the ledger: ", held.message()));
                       ledger_timer_.Start(kHoldAgain, [this] { HoldLedger(); });
                     });
}

void Pool::FoldAndRelease(const GenerationId& id, SegmentReader* segment) {
  const std::map<uint64_t, ServiceTotals> totals =
      segment == nullptr ? std::map<uint64_t, ServiceTotals>() : segment->AllTotals();
  absl::Status folded = MakeRoom(static_cast<uint32_t>(totals.size()), 1);
  if (folded.ok()) {
    folded = ledger_->Fold(id.group, id.slot, id.number, totals,
                           segment == nullptr ? 0 : segment->accept_errors());
  }
  // An entry that could not be folded stays: the next supervisor tries again.
  if (!folded.ok()) return Tell(absl::StrCat(id.HoldName(), ": ", folded.message()));
  parts_.holder.Release(id.HoldName());
}

void Pool::CountRestart(const GenerationId& id, RecycleReason reason) {
  absl::Status counted = MakeRoom(0, 1);
  if (counted.ok()) counted = ledger_->CountRestart(id.group, id.slot, reason);
  if (!counted.ok()) Tell(std::string(counted.message()));
}

uint32_t Pool::LastGeneration(const std::string& group, uint32_t slot) const {
  return ledger_->LastGeneration(group, slot);
}

void Pool::CheckLogs() {
  ForEachSlot([](Slot& slot) { slot.CheckLog(); });
  log_timer_.Start(kLogInterval, [this] { CheckLogs(); });
}

void Pool::Tell(const std::string& message) const {
  PoolEvent event;
  event.kind = "pool_remark";
  event.message = message;
  parts_.observer.OnPoolEvent(event);
}

}  // namespace cohost::supervisor
