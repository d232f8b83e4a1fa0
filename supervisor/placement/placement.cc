// SPDX-License-Identifier: Apache-2.0
#include "supervisor/placement/placement.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "supervisor/placement/declared_groups.h"
#include "supervisor/placement/derived_groups.h"

namespace cohost::supervisor {

namespace {

using Services = std::vector<const PlacementService*>;

Services ByName(const PlacementInput& input, std::vector<std::string>& errors) {
  Services services;
  services.reserve(input.services.size());
  for (const PlacementService& service : input.services) services.push_back(&service);
  std::sort(services.begin(), services.end(), [](auto* a, auto* b) { return a->name < b->name; });
  const auto twice = std::adjacent_find(services.begin(), services.end(),
                                        [](auto* a, auto* b) { return a->name == b->name; });
  if (twice != services.end()) {
    errors.push_back(absl::StrCat("two services are named '", (*twice)->name, "'"));
  }
  return services;
}

LoadLimits WorkerLimits(const Grouping& grouping) {
  return LoadLimits(std::min(grouping.max_services_per_worker, kMaxServicesPerWorker),
                    grouping.worker_memory, grouping.worker_cpu);
}

// What is recorded of the groups, and which services changed theirs.
void Record(const PlacementRecord& previous, Placement& placement) {
  for (const PlacedGroup& group : placement.groups) {
    for (const PlacedService& service : group.services) {
      const PlacementRecord::Place place{group.name, group.declared};
      const auto before = previous.services.find(service.name);
      if (before != previous.services.end() && before->second != place) {
        placement.moved.push_back(service.name);
      }
      placement.record.services.emplace(service.name, place);
    }
  }
  std::sort(placement.moved.begin(), placement.moved.end());
}

}  // namespace

PlacementInput MakePlacementInput(const Deployment& deployment, PlacementRecord previous,
                                  const std::map<std::string, PlacementTraits>& traits) {
  PlacementInput input;
  input.grouping = deployment.grouping;
  input.previous = std::move(previous);
  for (const Service& service : deployment.services) {
    PlacementService& out = input.services.emplace_back();
    out.name = service.name;
    out.runtime = service.runtime;
    out.load = service.load;
    out.group = service.group;
    out.overlap = service.overlap;
    out.alone = service.dotnet.isolation == Isolation::kSolo;
    const auto found = traits.find(service.name);
    if (found == traits.end()) continue;
    out.alone = found->second.alone;
    out.alone_because = found->second.alone_because;
    out.framework = found->second.framework;
  }
  for (const Group& group : deployment.groups) input.groups.push_back({group.name, group.match});
  return input;
}

absl::StatusOr<Placement> Place(const PlacementInput& input) {
  std::vector<std::string> errors;
  const Services services = ByName(input, errors);
  const LoadLimits limits = WorkerLimits(input.grouping);

  Placement placement;
  DeclaredGroups declared(input, limits);
  const Services free = declared.Take(services, errors);
  if (!errors.empty()) return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
  declared.Describe(placement);

  DerivedGroups derived(input, limits);
  derived.Take(free);
  derived.Describe(placement);

  std::sort(placement.groups.begin(), placement.groups.end(),
            [](const PlacedGroup& a, const PlacedGroup& b) { return a.name < b.name; });
  Record(input.previous, placement);
  return placement;
}

}  // namespace cohost::supervisor
