// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units.h"
#include "supervisor/config/deployment.h"
#include "supervisor/placement/load.h"

// Which services share workers: a pure function, without I/O, time or chance.
//
// Rules, in their order:
// 1. A service that names a group goes there. Else, with strategy load_profile, one whose class a
//    declared group matches goes there (to the least loaded when several match). Else it goes to a
//    derived group; with strategy declared that is an error.
// 2. A worker hosts one runtime, of one version; its garbage collector is its group's. Services
//    with `overlap: false` share only with each other; one that must be alone is alone; `latency`
//    never shares with `batch`. Derived groups hold one class each, without exception: the class is
//    why their workers behave alike, and a native worker more costs less than a fast service behind
//    a slow one.
// 3. No worker gets more than grouping.max_services_per_worker services, worker_memory of declared
//    memory, or worker_cpu in any hour of the day. Exceptions: services that name their group were
//    put there on purpose, so there it is a remark; and a service that is over a limit by itself
//    gets a derived group of its own and a remark. Nothing exceeds kMaxServicesPerWorker.
// 4. A service stays in the derived group where it was as long as 2 and 3 allow. When a group
// breaks
//    a limit as few services as possible leave it. So adding a service moves no other.
// 5. The others are spread over as few new groups as first-fit-decreasing needs (groups with room
//    first), each to where the fullest of count, memory and peak CPU ends lowest.
// A derived group is named by its class and a number ("steady-2") that is never used again.
namespace cohost::supervisor {

// Rows of a worker's segment (base/format/segment.h): a worker cannot hold more services.
inline constexpr uint32_t kMaxServicesPerWorker = 1024;

// What placement looks at in a service.
struct PlacementService {
  std::string name;
  Runtime runtime = Runtime::kNative;
  LoadProfile load;
  std::optional<std::string> group;
  bool overlap = true;
  // Shares its worker with no other service (the module's flag ONE_SERVICE_PER_WORKER, or an
  // application that is solo).
  bool alone = false;
  std::string alone_because;  // for people; may be empty
  // The version of its runtime; empty: any worker of the runtime will do.
  std::string framework;
};

struct DeclaredGroup {
  std::string name;
  std::vector<LoadClass> match;
};

// What is kept between two placements (supervisor/state stores it).
struct PlacementRecord {
  struct Place {
    std::string group;
    bool declared = false;
    friend bool operator==(const Place&, const Place&) = default;
  };
  std::map<std::string, Place> services;
  // Highest number given so far, by class name. To place everything anew, clear `services` only.
  std::map<std::string, uint32_t> last_numbers;
  friend bool operator==(const PlacementRecord&, const PlacementRecord&) = default;
};

struct PlacementInput {
  std::vector<PlacementService> services;  // in any order; names unique
  std::vector<DeclaredGroup> groups;
  Grouping grouping;
  PlacementRecord previous;
};

struct PlacedService {
  std::string name;
  std::string reason;  // one line: why it is here
  friend bool operator==(const PlacedService&, const PlacedService&) = default;
};

struct PlacedGroup {
  std::string name;
  // Policy is the deployment's group of this name; otherwise (derived) its group_defaults.
  bool declared = false;
  Runtime runtime = Runtime::kNative;
  std::string framework;  // of all its services
  // False: its workers are replaced stop-then-start.
  bool overlap = true;
  std::vector<PlacedService> services;  // by name; empty only in a declared group
  // Sums of what the services declare, for one worker.
  Bytes memory;
  double peak_cpu = 0;  // in the busiest hour
  std::string reason;   // one line: what the services have in common, which limit closed the group
  friend bool operator==(const PlacedGroup&, const PlacedGroup&) = default;
};

struct Placement {
  std::vector<PlacedGroup> groups;  // by name
  // Services that were in another group before, by name. New and removed services are not in it.
  std::vector<std::string> moved;
  // Limits that are exceeded on purpose, one line each.
  std::vector<std::string> remarks;
  // The `previous` of the next placement.
  PlacementRecord record;
  friend bool operator==(const Placement&, const Placement&) = default;
};

// What a service's files say about where it can be.
struct PlacementTraits {
  bool alone = false;
  std::string alone_because;
  std::string framework;
};

// Of a deployment, with the traits of those services that have some; without, nothing is known of
// files.
PlacementInput MakePlacementInput(const Deployment& deployment, PlacementRecord previous,
                                  const std::map<std::string, PlacementTraits>& traits = {});

// INVALID_ARGUMENT when the declared groups cannot hold what they must, naming service and rule.
absl::StatusOr<Placement> Place(const PlacementInput& input);

}  // namespace cohost::supervisor
