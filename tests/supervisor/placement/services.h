// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "supervisor/placement/placement.h"

namespace cohost::supervisor {

// A small service of a class.
inline PlacementService MakeService(std::string name, LoadClass load_class) {
  PlacementService service;
  service.name = std::move(name);
  service.load.load_class = load_class;
  return service;
}

inline PlacementService MakePinned(std::string name, LoadClass load_class, std::string group) {
  PlacementService service = MakeService(std::move(name), load_class);
  service.group = std::move(group);
  return service;
}

// The group that holds the service, null when none does.
inline const PlacedGroup* GroupOf(const Placement& placement, const std::string& service) {
  for (const PlacedGroup& group : placement.groups) {
    for (const PlacedService& placed : group.services) {
      if (placed.name == service) return &group;
    }
  }
  return nullptr;
}

inline std::string GroupNameOf(const Placement& placement, const std::string& service) {
  const PlacedGroup* group = GroupOf(placement, service);
  return group == nullptr ? "" : group->name;
}

}  // namespace cohost::supervisor
