// SPDX-License-Identifier: Apache-2.0
#include "supervisor/snapshot_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "supervisor/deployer/pool_targets.h"
#include "supervisor/deployer/worker_identity.h"
#include "supervisor/listen/backlog.h"

namespace cohost::supervisor {
namespace {

void FillQueues(const Service& service, const ListenerSet& listeners, ServiceView& view) {
  for (size_t i = 0; i < service.listen.size(); ++i) {
    const Listener* listener = listeners.Find(ListenerKey(service.listen[i], service.name, i));
    if (listener == nullptr) continue;
    // A queue that cannot be measured is shown as empty: it is a figure, not a state.
    if (const auto queue = MeasureAcceptQueue(*listener); queue.ok()) {
      view.backlog += queue->backlog;
      view.backlog_waiting += queue->waiting.value_or(0);
    }
  }
}

ServiceView MakeServiceView(const Deployer& deployer, const ListenerSet& listeners,
                            const PreparedService& prepared, const std::string& group) {
  const Service& service = prepared.service;
  ServiceView view;
  view.name = service.name;
  if (const auto id = deployer.ids().ids.find(service.name); id != deployer.ids().ids.end()) {
    view.id = id->second;
  }
  view.description = service.description;
  view.runtime = service.runtime;
  view.load_class = service.load.load_class;
  view.group = group;
  view.revision = prepared.revision;
  view.addresses = AddressesOf(service, listeners);
  view.module_path = prepared.module.path;
  view.module_hash = prepared.module.hash;
  view.stopped_by_operator = deployer.stopped().contains(service.name);
  if (view.stopped_by_operator) {
    view.status = ServiceStatus::kStopped;
    view.reason = "stopped by an operator";
  }
  FillQueues(service, listeners, view);
  return view;
}

}  // namespace

std::string ProcessFigures::WorkerName(const WorkerView& worker) {
  return absl::StrCat("worker/", worker.group, "/", worker.slot, "/", worker.generation);
}

void ProcessFigures::Update(std::vector<ProcessSample> samples) {
  std::map<std::string, Figures> figures;
  for (const ProcessSample& sample : samples) {
    if (!sample.memory && !sample.cpu) continue;
    Figures& out = figures[sample.name];
    if (sample.memory) {
      out.memory = {sample.memory->pss, sample.memory->private_bytes, sample.memory->anonymous};
    }
    if (sample.cpu) {
      out.cpu = sample.cpu->user_time + sample.cpu->system_time;
      out.threads = sample.cpu->threads;
    }
  }
  figures_ = std::move(figures);
}

const ProcessFigures::Figures* ProcessFigures::Find(const std::string& name) const {
  const auto found = figures_.find(name);
  return found == figures_.end() ? nullptr : &found->second;
}

void ProcessFigures::Fill(HostSnapshot& snapshot) const {
  for (WorkerView& worker : snapshot.workers) {
    if (const Figures* figures = Find(WorkerName(worker)); figures != nullptr) {
      worker.memory = figures->memory;
      worker.cpu = figures->cpu;
      worker.threads = figures->threads;
    }
  }
  if (const Figures* figures = Find(kSupervisor); figures != nullptr) {
    snapshot.supervisor_memory = figures->memory;
    snapshot.supervisor_cpu = figures->cpu;
  }
  if (const Figures* figures = Find(kKeeper); figures != nullptr) {
    snapshot.keeper_memory = figures->memory;
    snapshot.keeper_cpu = figures->cpu;
  }
}

std::vector<SampledProcess> ProcessFigures::Processes(const HostSnapshot& snapshot) {
  std::vector<SampledProcess> processes = {{kKeeper, snapshot.keeper_pid},
                                           {kSupervisor, snapshot.supervisor_pid}};
  for (const WorkerView& worker : snapshot.workers) {
    if (worker.pid > 0) processes.push_back({WorkerName(worker), worker.pid});
  }
  return processes;
}

void FillDeployment(const Deployer& deployer, const ListenerSet& listeners,
                    const std::vector<ListedFile>& modules, HostSnapshot& snapshot) {
  const PreparedDeployment& prepared = deployer.prepared();
  snapshot.revision = deployer.revision();
  snapshot.runtime_dir = prepared.deployment.host.runtime_dir;
  snapshot.state_dir = prepared.deployment.host.state_dir;
  for (const PlacedGroup& group : deployer.placement().groups) {
    GroupView& view = snapshot.groups.emplace_back();
    view.name = group.name;
    view.declared = group.declared;
    view.workers = PolicyOf(prepared, group).workers;
    view.user = IdentityName(IdentityOf(prepared, group));
    view.reason = group.reason;
    view.planned_memory = group.memory;
    view.planned_peak_cpu = group.peak_cpu;
    for (const PlacedService& placed : group.services) {
      view.services.push_back(placed.name);
      view.service_reasons[placed.name] = placed.reason;
      snapshot.services.push_back(
          MakeServiceView(deployer, listeners, prepared.services.at(placed.name), group.name));
    }
  }
  std::sort(snapshot.services.begin(), snapshot.services.end(),
            [](const ServiceView& a, const ServiceView& b) { return a.name < b.name; });
  for (const std::string& remark : deployer.placement().remarks) snapshot.remarks.push_back(remark);
  for (const std::string& remark : prepared.remarks) snapshot.remarks.push_back(remark);
  for (const ListedFile& file : modules) {
    snapshot.modules.push_back({file.file.hash, file.file.path, file.file.size, file.source,
                                file.services, StoredKindName(file.file.kind), file.published});
  }
}

}  // namespace cohost::supervisor
