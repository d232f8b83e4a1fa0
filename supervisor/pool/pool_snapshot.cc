// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/pool_snapshot.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {
namespace {

// What all workers together say of one service.
struct Gathered {
  ServiceTotals totals;
  uint32_t workers = 0;
  uint32_t ready = 0;
  bool loading = false;
  bool failed = false;
  bool draining = false;
  std::string reason;
  absl::Duration warmup;
  uint32_t in_flight = 0;
  uint32_t queued = 0;
  std::optional<absl::Duration> oldest_request_age;
  std::optional<absl::Duration> oldest_queued_age;
  uint64_t allocated_bytes = 0;
  std::vector<ModuleMetricView> metrics;
  uint64_t metrics_dropped = 0;
};
using Gathering = std::unordered_map<uint64_t, Gathered>;

void Raise(std::optional<absl::Duration>& oldest, const std::optional<absl::Duration>& age) {
  if (age.has_value()) oldest = std::max(oldest.value_or(*age), *age);
}

void AddMetrics(Gathered& service, const ServiceGauges& gauges) {
  service.metrics_dropped += gauges.metrics_dropped;
  for (const ModuleMetricView& metric : gauges.metrics) {
    const auto known =
        std::find_if(service.metrics.begin(), service.metrics.end(),
                     [&metric](const auto& other) { return other.name == metric.name; });
    if (known != service.metrics.end()) {
      known->value += metric.value;
    } else {
      service.metrics.push_back(metric);
    }
  }
}

void AddState(Gathered& service, const HostedService& hosted, bool retired) {
  if (retired) {
    service.draining = true;
    return;
  }
  switch (hosted.status) {
    case ServiceStatus::kReady:
      ++service.ready;
      service.warmup = std::max(service.warmup, hosted.load_time);
      break;
    case ServiceStatus::kLoading:
      service.loading = true;
      break;
    case ServiceStatus::kFailed:
      service.failed = true;
      break;
    case ServiceStatus::kDraining:
    case ServiceStatus::kStopped:
      service.draining = true;
      break;
  }
  if (!hosted.reason.empty()) service.reason = hosted.reason;
}

void GatherWorker(const Worker& worker, SteadyTime now, Gathering& gathering) {
  Generation* generation = worker.generation();
  if (generation == nullptr) return;
  SegmentReader* segment = generation->segment();
  for (const auto& [id, hosted] : generation->roster().services()) {
    Gathered& service = gathering[id];
    AddState(service, hosted, worker.ends());
    AddMetrics(service, hosted.gauges);
    if (segment == nullptr) continue;
    const RowGauges gauges = segment->Gauges(id, now);
    service.in_flight += gauges.in_flight;
    service.queued += gauges.queued;
    service.allocated_bytes += gauges.allocated_bytes;
    Raise(service.oldest_request_age, gauges.oldest_request_age);
    Raise(service.oldest_queued_age, gauges.oldest_queued_age);
  }
  if (segment == nullptr) return;
  // Of services that have left the worker too.
  for (const auto& [id, totals] : segment->KnownTotals()) gathering[id].totals.Add(totals);
}

void GatherWishes(const Slot& slot, const GroupTarget& target, Gathering& gathering) {
  for (const auto& service : target.services) {
    if (!slot.BelongsHere(*service)) continue;
    Gathered& gathered = gathering[service->id];
    ++gathered.workers;
    const std::string failure = slot.FailureOf(*service);
    if (failure.empty()) continue;
    gathered.failed = true;
    gathered.reason = failure;
  }
}

ServiceStatus StatusOf(const Gathered& service) {
  if (service.ready > 0) return ServiceStatus::kReady;
  if (service.loading) return ServiceStatus::kLoading;
  if (service.failed) return ServiceStatus::kFailed;
  if (service.workers > 0) return ServiceStatus::kLoading;
  return service.draining ? ServiceStatus::kDraining : ServiceStatus::kStopped;
}

void Fill(ServiceView& view, Gathered service) {
  view.status = StatusOf(service);
  // Of a service that an operator has stopped, the deployment's own word stays.
  if (!service.reason.empty()) view.reason = std::move(service.reason);
  view.totals.Add(service.totals);
  view.workers = service.workers;
  view.ready_workers = service.ready;
  view.warmup = service.warmup;
  view.in_flight = service.in_flight;
  view.queued = service.queued;
  view.oldest_request_age = service.oldest_request_age;
  view.oldest_queued_age = service.oldest_queued_age;
  view.allocated_bytes = service.allocated_bytes;
  view.metrics = std::move(service.metrics);
  view.metrics_dropped = service.metrics_dropped;
}

WorkerView View(const Slot& slot, const Worker& worker, const Clock& clock) {
  WorkerView view;
  view.group = slot.target().name;
  view.slot = slot.slot_number();
  view.status = worker.status();
  view.last_reason = worker.reason();
  view.last_exit = slot.last_exit();
  view.ready_after = worker.ready_after();
  view.log_file = slot.log_path();
  const std::optional<SteadyTime> next = worker.next_attempt();
  if (next.has_value()) view.next_attempt = clock.Wall() + (*next - clock.Steady());
  const Generation* generation = worker.generation();
  if (generation == nullptr) return view;
  view.generation = generation->id().number;
  view.pid = generation->pid();
  view.diagnostics_folder = generation->folder();
  view.started = generation->record().started;
  for (const auto& [id, service] : generation->roster().services()) {
    view.services.push_back(service.name.empty() ? absl::StrCat(id) : service.name);
  }
  std::sort(view.services.begin(), view.services.end());
  if (generation->segment() != nullptr) {
    for (const auto& [id, totals] : generation->segment()->KnownTotals()) {
      view.requests += totals.finished;
    }
  }
  return view;
}

// What an operator must know of a worker; empty: nothing.
std::string Alarm(const Worker& worker, const std::string& binary_id) {
  if (worker.cannot_be_stopped()) return "cannot be stopped";
  const Generation* generation = worker.generation();
  if (generation == nullptr || binary_id.empty() || !worker.serves() ||
      generation->binary_id() == binary_id) {
    return "";
  }
  return "runs another build of cohost-worker until it is replaced";
}

void FillSlot(const Slot& slot, const Ledger& ledger, const Clock& clock,
              const std::string& binary_id, HostSnapshot& snapshot) {
  std::vector<WorkerView> views;
  for (const Worker* worker : slot.Workers()) {
    views.push_back(View(slot, *worker, clock));
    const std::string alarm = Alarm(*worker, binary_id);
    if (alarm.empty()) continue;
    snapshot.remarks.push_back(absl::StrCat("worker ", views.back().group, "/", views.back().slot,
                                            ", generation ", views.back().generation, ": ", alarm));
  }
  std::sort(views.begin(), views.end(),
            [](const WorkerView& a, const WorkerView& b) { return a.generation < b.generation; });
  uint64_t accept_errors = 0;
  for (const Worker* worker : slot.Workers()) {
    const Generation* generation = worker->generation();
    if (generation != nullptr && generation->segment() != nullptr) {
      accept_errors += generation->segment()->accept_errors();
    }
  }
  for (WorkerView& view : views) {
    view.accept_errors = ledger.AcceptErrors(view.group, view.slot) + accept_errors;
    view.restarts = ledger.Restarts(view.group, view.slot);
    snapshot.workers.push_back(std::move(view));
  }
}

// Of one worker for all of its group: they differ in nothing but the worker's name.
void AddSpawnRemarks(const std::string& name, const WorkerGroup& group, HostSnapshot& snapshot) {
  const GroupLimits& limits = group.target().policy.limits;
  if (limits.memory.count == 0 && limits.cpu == 0 && limits.tasks == 0) return;
  for (const auto& [number, slot] : group.slots()) {
    for (const Worker* worker : slot->Workers()) {
      if (worker->generation() == nullptr || worker->generation()->remarks().empty()) continue;
      for (const std::string& remark : worker->generation()->remarks()) {
        snapshot.remarks.push_back(absl::StrCat("group ", name, ": ", remark));
      }
      return;
    }
  }
}

}  // namespace

void FillServices(const WorkerGroups& groups, const Ledger& ledger, SteadyTime now,
                  HostSnapshot& snapshot) {
  Gathering gathering;
  for (const auto& [name, group] : groups) {
    for (const auto& [number, slot] : group->slots()) {
      for (const Worker* worker : slot->Workers()) GatherWorker(*worker, now, gathering);
      if (number < group->target().policy.workers) {
        GatherWishes(*slot, group->target(), gathering);
      }
    }
  }
  for (ServiceView& view : snapshot.services) {
    view.totals = ledger.Totals(view.id);
    Fill(view, std::move(gathering[view.id]));
  }
}

void FillWorkers(const WorkerGroups& groups, const Ledger& ledger, const Clock& clock,
                 const std::string& binary_id, HostSnapshot& snapshot) {
  for (const auto& [name, group] : groups) {
    uint32_t ready = 0;
    AddSpawnRemarks(name, *group, snapshot);
    for (const auto& [number, slot] : group->slots()) {
      ready += slot->serves() ? 1 : 0;
      FillSlot(*slot, ledger, clock, binary_id, snapshot);
    }
    for (GroupView& view : snapshot.groups) {
      if (view.name != name) continue;
      view.workers = static_cast<uint32_t>(group->slots().size());
      view.workers_ready = ready;
    }
  }
}

}  // namespace cohost::supervisor
