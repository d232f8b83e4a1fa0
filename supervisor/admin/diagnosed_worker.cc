// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/diagnosed_worker.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "supervisor/admin/lookup.h"

namespace cohost::supervisor {
namespace {

bool Serves(const WorkerView& worker) {
  return worker.status == WorkerStatus::kReady || worker.status == WorkerStatus::kUnhealthy;
}

// The worker of each slot that runs the service.
std::map<uint32_t, const WorkerView*> WorkersOf(const HostSnapshot& snapshot,
                                                const ServiceView& service) {
  std::map<uint32_t, const WorkerView*> workers;
  for (const WorkerView& worker : snapshot.workers) {
    const auto& in_it = worker.services;
    if (worker.group != service.group || worker.pid == 0 ||
        std::find(in_it.begin(), in_it.end(), service.name) == in_it.end()) {
      continue;
    }
    const WorkerView*& chosen = workers[worker.slot];
    if (chosen == nullptr || (Serves(worker) && !Serves(*chosen))) chosen = &worker;
  }
  return workers;
}

std::string SlotsOf(const std::map<uint32_t, const WorkerView*>& workers) {
  return absl::StrJoin(workers, ", ", [](std::string* text, const auto& each) {
    absl::StrAppend(text, each.first);
  });
}

absl::Status RunsNowhere(const ServiceView& service) {
  std::string message = absl::StrCat("service '", service.name, "' runs in no worker now");
  if (service.stopped_by_operator) {
    absl::StrAppend(&message, ": it is stopped; `cohostctl start ", service.name, "` starts it");
  } else if (!service.reason.empty()) {
    absl::StrAppend(&message, ": ", service.reason);
  }
  return absl::FailedPreconditionError(message);
}

}  // namespace

absl::StatusOr<const WorkerView*> FindDiagnosedWorker(const HostSnapshot& snapshot,
                                                      const std::string& name,
                                                      std::optional<uint32_t> slot) {
  COHOST_RETURN_IF_ERROR(CheckService(snapshot, name));
  const ServiceView& service =
      *std::find_if(snapshot.services.begin(), snapshot.services.end(),
                    [&](const ServiceView& each) { return each.name == name; });
  if (service.runtime != Runtime::kDotnet) {
    return absl::FailedPreconditionError(
        absl::StrCat("service '", name, "' is native: only dotnet services have a .NET runtime"));
  }
  const std::map<uint32_t, const WorkerView*> workers = WorkersOf(snapshot, service);
  if (workers.empty()) return RunsNowhere(service);
  if (!slot && workers.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("service '", name, "' runs in slots ",
                                                   SlotsOf(workers), " of group '", service.group,
                                                   "': name one with --slot"));
  }
  const auto found = slot ? workers.find(*slot) : workers.begin();
  if (found == workers.end()) {
    return absl::NotFoundError(absl::StrCat("service '", name, "' does not run in slot ", *slot,
                                            " of group '", service.group, "' but in ",
                                            SlotsOf(workers)));
  }
  if (found->second->diagnostics_folder.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the .NET runtime of worker ", service.group, "/", found->first,
        " takes no diagnostics: group '", service.group,
        "' has `dotnet: {diagnostics: false}`, or `cohostctl events` says why it could not"));
  }
  return found->second;
}

}  // namespace cohost::supervisor
