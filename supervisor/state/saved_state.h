// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "supervisor/placement/placement.h"

// What the state keeps, as plain values.
namespace cohost::supervisor {

// One applied deployment.
struct StateRevision {
  uint64_t revision = 0;
  // As applied, secrets unresolved.
  std::string deployment;
  absl::Time applied;
  std::optional<uid_t> uid;
  friend bool operator==(const StateRevision&, const StateRevision&) = default;
};

struct OperatorStop {
  absl::Time time;
  std::optional<uid_t> uid;
  friend bool operator==(const OperatorStop&, const OperatorStop&) = default;
};

// Numbers of services in segments and ledger.
struct ServiceIds {
  std::map<std::string, uint64_t> ids;
  // Never given back: a service that is removed and comes again gets a new number.
  uint64_t next = 1;

  // The service's number, a new one when it has none.
  uint64_t Assign(const std::string& service) {
    const auto [it, added] = ids.try_emplace(service, next);
    if (added) ++next;
    return it->second;
  }
  friend bool operator==(const ServiceIds&, const ServiceIds&) = default;
};

// Everything that a start needs, as plain values.
struct StateSnapshot {
  std::string instance;  // 32 hexadecimal digits, made with the file
  std::optional<StateRevision> revision;
  PlacementRecord placement;
  ServiceIds service_ids;
  std::map<std::string, OperatorStop> operator_stops;
  // Of events, so that ids rise over restarts.
  uint64_t next_event_id = 1;
  friend bool operator==(const StateSnapshot&, const StateSnapshot&) = default;
};

}  // namespace cohost::supervisor
