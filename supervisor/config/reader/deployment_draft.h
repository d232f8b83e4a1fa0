// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "supervisor/config/deployment.h"
#include "supervisor/config/reader/map_reader.h"

namespace cohost::supervisor {

// Where the values of one service stand that are checked against others.
struct ServicePlaces {
  Place name;
  Place group;
  Place load_class;
  Place load_memory;
  Place load_cpu;
  Place limits_memory;
  std::vector<Place> addresses;  // as Service::listen
};

// A name of host.signing_keys as a group or group_defaults writes it.
struct NamedKey {
  std::string name;
  Place place;
};

// Where the values of a policy stand that are checked against others.
struct PolicyPlaces {
  std::vector<NamedKey> signatures_from;
  Place heap_limit;  // dotnet.heap_limit
};

struct GroupPlaces {
  Place name;
  std::vector<Place> match;  // as Group::match
  PolicyPlaces policy;
};

// A deployment while it is read: the values of all files so far, and where they stand.
struct DeploymentDraft {
  Deployment deployment;
  std::vector<ServicePlaces> services;  // as Deployment::services
  std::vector<GroupPlaces> groups;      // as Deployment::groups
  Place admin;
  Place metrics;
  Place signing_keys;
  Place defaults_memory;  // group_defaults.limits.memory
  PolicyPlaces defaults;
  // Whether the file says where the admin socket is.
  bool admin_given = false;
  struct Include {
    std::string pattern;
    Place place;
  };
  std::vector<Include> includes;
};

}  // namespace cohost::supervisor
