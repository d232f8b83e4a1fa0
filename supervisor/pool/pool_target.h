// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/config/deployment.h"
#include "supervisor/process/process_launcher.h"

// What the pool should make true, as plain values: the outcome of configuration, placement, the
// module store and the listeners.
namespace cohost::supervisor {

struct ListenerTarget {
  std::string address;  // as a person reads it
  // Borrowed; valid until the next Pool::Apply returns.
  int descriptor = -1;
  // kDotnet: which of the application's endpoints takes its connections; empty: the default.
  std::string endpoint{};
};

struct ServiceTarget {
  uint64_t id = 0;  // never 0, never reused for another service
  // Of everything below and of the module's content: two targets of one id and revision are the
  // same, another revision needs a new worker.
  uint64_t revision = 0;
  std::string name;
  Runtime runtime = Runtime::kNative;
  std::string module_path;  // in the module store; kDotnet: the main assembly in its tree
  std::map<std::string, std::string> data_images;  // name -> absolute path in the store
  Settings settings;                               // references resolved
  ServiceLimits limits;
  ServiceHealth health;
  std::vector<std::string> warmup;
  std::vector<ListenerTarget> listeners;
  Instances instances = Instances::kAll;
  bool overlap = true;
  bool access_log = false;
  std::string data_folder;
  // kDotnet
  Settings environment;  // references resolved
  std::vector<std::string> arguments;
  std::string data_protection_name;
  Isolation isolation = Isolation::kShared;
  std::vector<std::string> shared_libraries;  // as in AssignRequest
};

struct GroupTarget {
  std::string name;
  GroupPolicy policy;
  ProcessIdentity identity;  // policy.identity, resolved to numbers
  // Of its workers, beside what every worker has: "KEY=value".
  std::vector<std::string> environment;
  // Its workers' .NET runtime takes diagnostics, in a folder of the worker's own.
  bool diagnostics = false;
  // Services that an operator stopped are left out.
  std::vector<std::shared_ptr<const ServiceTarget>> services;
  // A new version of one of `services` is tried in slot 0 first: the other slots keep this target
  // of the same id. Unset: all slots have `services`.
  std::shared_ptr<const ServiceTarget> before_canary;
};

struct PoolTarget {
  std::vector<GroupTarget> groups;  // names are unique; a service is in one group only
};

// The name that both sides of a link use for a listening socket: its socket inode. Every duplicate
// has the same, in this supervisor and in the next one, and a socket that is closed and opened
// again on the same address has another.
absl::StatusOr<uint64_t> ListenerToken(int descriptor);

// Of everything that only a new process can take on: identity, limits and environment. Never 0.
uint64_t SpawnFingerprint(const GroupTarget& group);

}  // namespace cohost::supervisor
