// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/host_collectable.h"

#include <array>
#include <utility>

#include "absl/time/time.h"
#include "supervisor/metrics/memory_families.h"
#include "supervisor/metrics/names.h"
#include "supervisor/metrics/service_families.h"

namespace cohost::supervisor {
namespace {

using prometheus::MetricFamily;

constexpr std::array kServiceStates = {ServiceStatus::kLoading, ServiceStatus::kReady,
                                       ServiceStatus::kFailed, ServiceStatus::kDraining,
                                       ServiceStatus::kStopped};

void AddServiceCounts(const HostSnapshot& snapshot, Families& families) {
  MetricFamily family = MakeFamily(kServices);
  for (ServiceStatus state : kServiceStates) {
    double count = 0;
    for (const ServiceView& service : snapshot.services) count += service.status == state ? 1 : 0;
    AddValue(family, {MakeLabel("state", Name(state))}, count);
  }
  families.push_back(std::move(family));
}

void AddOwnProcesses(const HostSnapshot& snapshot, Families& families) {
  MetricFamily pss = MakeFamily(kProcessPss);
  MetricFamily private_bytes = MakeFamily(kProcessPrivate);
  MetricFamily cpu = MakeFamily(kProcessCpu);
  const auto add = [&](const char* name, const ProcessMemoryView& memory, absl::Duration used) {
    // Not looked at yet: zero would read as a counter that began anew.
    if (memory.pss.count == 0 && used == absl::ZeroDuration()) return;
    const Labels labels = {MakeLabel("process", name)};
    AddValue(pss, labels, static_cast<double>(memory.pss.count));
    AddValue(private_bytes, labels, static_cast<double>(memory.private_bytes.count));
    AddValue(cpu, labels, absl::ToDoubleSeconds(used));
  };
  add("keeper", snapshot.keeper_memory, snapshot.keeper_cpu);
  add("supervisor", snapshot.supervisor_memory, snapshot.supervisor_cpu);
  families.push_back(std::move(pss));
  families.push_back(std::move(private_bytes));
  families.push_back(std::move(cpu));
}

void AddHostFamilies(const HostSnapshot& snapshot, const std::string& version, Families& families) {
  MetricFamily build = MakeFamily(kBuildInfo);
  AddValue(build, {MakeLabel("version", version)}, 1);
  families.push_back(std::move(build));
  AddSingle(families, kStartTime, absl::ToDoubleSeconds(snapshot.started - absl::UnixEpoch()));
  if (snapshot.ready_after) {
    AddSingle(families, kReadyAfter, absl::ToDoubleSeconds(*snapshot.ready_after));
  }
  AddSingle(families, kRevision, static_cast<double>(snapshot.revision));
  AddServiceCounts(snapshot, families);
  AddSingle(families, kSupervisorRestarts, snapshot.supervisor_restarts);
  AddOwnProcesses(snapshot, families);
  double store_size = 0;
  for (const ModuleView& module : snapshot.modules) {
    store_size += static_cast<double>(module.size.count);
  }
  AddSingle(families, kStoreFiles, static_cast<double>(snapshot.modules.size()));
  AddSingle(families, kStoreSize, store_size);
  AddSingle(families, kEventsDropped, static_cast<double>(snapshot.events_dropped));
  AddSingle(families, kAcceptErrors, static_cast<double>(snapshot.accept_errors));
}

}  // namespace

std::vector<MetricFamily> HostCollectable::Collect() const {
  const std::shared_ptr<const HostSnapshot> snapshot = source_();
  cpu_.Update(*snapshot);
  Families families;
  AddHostFamilies(*snapshot, version_, families);
  AddGroupFamilies(*snapshot, families);
  AddWorkerFamilies(*snapshot, cpu_, families);
  AddServiceFamilies(*snapshot, families);
  AddModuleFamilies(*snapshot, families);
  AddModuleMemoryFamilies(*snapshot, families);
  return families;
}

}  // namespace cohost::supervisor
