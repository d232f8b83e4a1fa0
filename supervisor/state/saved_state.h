// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "supervisor/placement/placement.h"

// What the state keeps, as plain values.
namespace cohost::supervisor {

// What led to a revision.
enum class ChangeAction { kStart, kReload, kDeploy, kRollback, kImport };
// "start", "reload", "deploy", "rollback", "import"; in the state file and for people.
std::string_view Name(ChangeAction action);
std::optional<ChangeAction> ParseChangeAction(std::string_view name);

// One applied deployment.
struct StateRevision {
  uint64_t revision = 0;
  // As applied, secrets unresolved. Empty in lists.
  std::string deployment;
  absl::Time applied;
  // Unset: nobody asked for it (a start).
  std::optional<uid_t> uid;
  ChangeAction action = ChangeAction::kStart;
  // One line for people: "2 added, 1 changed".
  std::string summary;
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

// The files that a service runs with, by content; in the module store.
struct ServiceFiles {
  std::string module;                              // SHA-256; empty: the service was removed
  std::map<std::string, std::string> data_images;  // name that the module asks for -> SHA-256
  friend bool operator==(const ServiceFiles&, const ServiceFiles&) = default;
};

// The latest changes of each service that are kept: what a rollback can go back to, and what the
// module store keeps files for.
inline constexpr size_t kKeptChanges = 10;

// What one revision of the host made of one service. Its part of the deployment is in the revision
// of the same number.
struct ServiceChange {
  std::string service;
  uint64_t revision = 0;
  // Of everything that a worker is told (ServiceRevision of deployer/prepared_deployment.h).
  uint64_t fingerprint = 0;
  ServiceFiles files;
  std::string source;  // where the module was copied from
  ChangeAction action = ChangeAction::kStart;
  absl::Time time;
  std::optional<uid_t> uid;
  friend bool operator==(const ServiceChange&, const ServiceChange&) = default;
};

// A service that does not run as the deployment file says, because an operator deployed another
// module or went back to an earlier revision. It ends when the file says something new.
struct ServicePin {
  // SourceFingerprint of what the file said when it was replaced.
  uint64_t replaced = 0;
  // The host's revision that began it.
  uint64_t revision = 0;
  friend bool operator==(const ServicePin&, const ServicePin&) = default;
};

// When and from where a file of the module store came first.
struct ModuleRecord {
  std::string hash;
  std::string kind;  // as StoredKindName says it
  uint64_t size = 0;
  std::string source;
  absl::Time published;
  std::optional<uid_t> uid;
  friend bool operator==(const ModuleRecord&, const ModuleRecord&) = default;
};

// Everything that a start needs, as plain values.
struct StateSnapshot {
  std::string instance;  // 32 hexadecimal digits, made with the file
  std::optional<StateRevision> revision;
  PlacementRecord placement;
  ServiceIds service_ids;
  std::map<std::string, OperatorStop> operator_stops;
  // The latest of every service that was not removed: what is in force.
  std::map<std::string, ServiceChange> services;
  std::map<std::string, ServicePin> pins;
  // Of events, so that ids rise over restarts.
  uint64_t next_event_id = 1;
  friend bool operator==(const StateSnapshot&, const StateSnapshot&) = default;
};

// One change of the deployment, with everything that has to be on the disk together with it.
struct DeploymentChange {
  StateRevision revision;
  PlacementRecord placement;
  ServiceIds service_ids;
  // Of services that are new, other than before, or gone.
  std::vector<ServiceChange> services;
  std::map<std::string, ServicePin> pins;  // all
  std::vector<ModuleRecord> modules;       // in use; known ones keep what they have
};

}  // namespace cohost::supervisor
