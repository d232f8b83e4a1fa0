// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/worker_families.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {
namespace {

using prometheus::MetricFamily;

constexpr std::array kWorkerStates = {WorkerStatus::kAbsent,   WorkerStatus::kStarting,
                                      WorkerStatus::kReady,    WorkerStatus::kUnhealthy,
                                      WorkerStatus::kDraining, WorkerStatus::kStopping,
                                      WorkerStatus::kBackoff,  WorkerStatus::kFailed};

// The generations of one slot; ordered as in the snapshot, the newest last.
using Generations = std::vector<const WorkerView*>;
using Slots = std::map<SlotCpu::Slot, Generations>;

Slots GroupBySlot(const HostSnapshot& snapshot) {
  Slots slots;
  for (const WorkerView& worker : snapshot.workers) {
    slots[{worker.group, worker.slot}].push_back(&worker);
  }
  return slots;
}

const WorkerView& Serving(const Generations& generations) {
  for (const WorkerView* worker : generations) {
    if (worker->status == WorkerStatus::kReady) return *worker;
  }
  return *generations.back();
}

Labels SlotLabels(const SlotCpu::Slot& slot) {
  return {MakeLabel("group", slot.first), MakeLabel("slot", absl::StrCat(slot.second))};
}

// Slots without a value are left out.
template <typename Value>
void AddPerSlot(const Slots& slots, Families& families, const MetricName& name, Value value) {
  MetricFamily family = MakeFamily(name);
  for (const auto& [slot, generations] : slots) {
    const std::optional<double> known = value(slot, generations);
    if (known) AddValue(family, SlotLabels(slot), *known);
  }
  families.push_back(std::move(family));
}

// A process that has not been looked at yet.
bool IsUnmeasured(const WorkerView* worker) {
  return worker->pid > 0 && worker->memory.pss.count == 0;
}

// Of measured figures.
template <typename Value>
auto Sum(Value value) {
  return [value](const SlotCpu::Slot&, const Generations& generations) -> std::optional<double> {
    if (std::any_of(generations.begin(), generations.end(), IsUnmeasured)) return std::nullopt;
    double sum = 0;
    for (const WorkerView* worker : generations) sum += static_cast<double>(value(*worker));
    return sum;
  };
}

void AddStates(const Slots& slots, Families& families) {
  MetricFamily family = MakeFamily(kWorkerState);
  for (const auto& [slot, generations] : slots) {
    const WorkerStatus present = Serving(generations).status;
    for (WorkerStatus state : kWorkerStates) {
      Labels labels = SlotLabels(slot);
      labels.push_back(MakeLabel("state", Name(state)));
      AddValue(family, std::move(labels), state == present ? 1 : 0);
    }
  }
  families.push_back(std::move(family));
}

void AddRestarts(const Slots& slots, Families& families) {
  MetricFamily family = MakeFamily(kWorkerRestarts);
  for (const auto& [slot, generations] : slots) {
    for (size_t i = 0; i < kRecycleReasons; ++i) {
      const auto reason = static_cast<RecycleReason>(i);
      if (reason == RecycleReason::kNone) continue;
      Labels labels = SlotLabels(slot);
      labels.push_back(MakeLabel("reason", Name(reason)));
      // Every generation carries its slot's count; one that was published late has less.
      uint64_t count = 0;
      for (const WorkerView* worker : generations) count = std::max(count, worker->restarts[i]);
      AddValue(family, std::move(labels), static_cast<double>(count));
    }
  }
  families.push_back(std::move(family));
}

}  // namespace

void SlotCpu::Update(const HostSnapshot& snapshot) {
  const Slots present = GroupBySlot(snapshot);
  for (const auto& [slot, generations] : present) {
    Used& used = slots_[slot];
    for (const WorkerView* worker : generations) {
      absl::Duration& known = used.by_generation[worker->generation];
      known = std::max(known, worker->cpu);
    }
  }
  std::map<std::string, uint32_t> workers_of;
  for (const GroupView& group : snapshot.groups) workers_of[group.name] = group.workers;
  for (auto it = slots_.begin(); it != slots_.end();) {
    const auto now = present.find(it->first);
    Used& used = it->second;
    for (auto generation = used.by_generation.begin(); generation != used.by_generation.end();) {
      const bool alive =
          now != present.end() &&
          std::any_of(now->second.begin(), now->second.end(), [&](const WorkerView* worker) {
            return worker->generation == generation->first;
          });
      if (!alive) used.folded += generation->second;
      generation = alive ? std::next(generation) : used.by_generation.erase(generation);
    }
    const auto group = workers_of.find(it->first.first);
    const bool kept =
        now != present.end() || (group != workers_of.end() && it->first.second < group->second);
    it = kept ? std::next(it) : slots_.erase(it);
  }
}

absl::Duration SlotCpu::Of(const Slot& slot) const {
  const auto it = slots_.find(slot);
  if (it == slots_.end()) return absl::ZeroDuration();
  absl::Duration sum = it->second.folded;
  for (const auto& [generation, used] : it->second.by_generation) sum += used;
  return sum;
}

void AddWorkerFamilies(const HostSnapshot& snapshot, const SlotCpu& cpu, Families& families) {
  const Slots slots = GroupBySlot(snapshot);
  AddPerSlot(slots, families, kWorkerPss,
             Sum([](const WorkerView& worker) { return worker.memory.pss.count; }));
  AddPerSlot(slots, families, kWorkerPrivate,
             Sum([](const WorkerView& worker) { return worker.memory.private_bytes.count; }));
  AddPerSlot(slots, families, kWorkerThreads,
             Sum([](const WorkerView& worker) { return worker.threads; }));
  // A next supervisor knows nothing at first: zero would read as a counter that began anew.
  AddPerSlot(slots, families, kWorkerCpu,
             [&](const SlotCpu::Slot& slot, const Generations&) -> std::optional<double> {
               const absl::Duration used = cpu.Of(slot);
               if (used == absl::ZeroDuration()) return std::nullopt;
               return absl::ToDoubleSeconds(used);
             });
  // Every generation carries its slot's count.
  AddPerSlot(slots, families, kWorkerAcceptErrors,
             [](const SlotCpu::Slot&, const Generations& generations) -> std::optional<double> {
               return static_cast<double>(generations.front()->accept_errors);
             });
  AddStates(slots, families);
  AddRestarts(slots, families);
}

void AddGroupFamilies(const HostSnapshot& snapshot, Families& families) {
  MetricFamily services = MakeFamily(kGroupServices);
  MetricFamily workers = MakeFamily(kGroupWorkers);
  MetricFamily ready = MakeFamily(kGroupWorkersReady);
  for (const GroupView& group : snapshot.groups) {
    const Labels labels = {MakeLabel("group", group.name)};
    AddValue(services, labels, static_cast<double>(group.services.size()));
    AddValue(workers, labels, group.workers);
    AddValue(ready, labels, group.workers_ready);
  }
  families.push_back(std::move(services));
  families.push_back(std::move(workers));
  families.push_back(std::move(ready));
}

}  // namespace cohost::supervisor
