// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/units.h"

// The deployment as plain, fully validated values: after the parser nothing in the program sees
// YAML. Defaults stand beside the fields. Paths are absolute, names unique, references resolved,
// sizes within their ranges.
namespace cohost::supervisor {

enum class Runtime { kNative, kDotnet };
enum class LoadClass { kLatency, kSteady, kBursty, kBatch, kIdle };
enum class Strategy { kLoadProfile, kDeclared };
enum class Instances { kOne, kAll };
enum class Isolation { kShared, kSolo };
enum class Precompilation { kOff, kPresent, kRestore };
enum class DotnetProfile { kDensity, kThroughput };
enum class GarbageCollector { kWorkstation, kServer };
// Which libraries the applications of a worker share.
enum class LibrarySharing { kNone, kReviewed, kListed };

// Where a service listens, or the host's own endpoints.
struct Address {
  enum class Kind { kTcp, kUnix };
  Kind kind = Kind::kTcp;
  // As a person reads it: "http://127.0.0.1:8101", "http://[::1]:80", "http+unix:/run/x.sock".
  std::string text;
  // kTcp: numeric IPv4 or IPv6 without brackets ("0.0.0.0", "::" must be written to be meant), and
  // the port.
  std::string host;
  uint16_t port = 0;
  // kUnix: at most 107 bytes.
  std::string path;
  mode_t mode = 0600;
  std::optional<std::string> owner;  // user name; unset: the group's user
  // Accept queue length asked for; the kernel caps it at net.core.somaxconn.
  int backlog = 1024;
  // kDotnet: which of the application's own endpoints takes the connections; empty: the default.
  std::string endpoint;

  // Same socket, whatever the text: key of a listener.
  std::string Key() const;
  friend bool operator==(const Address&, const Address&) = default;
};

struct LoadProfile {
  LoadClass load_class = LoadClass::kSteady;
  double requests_per_second = 1;
  // In cores, inside the peak hours (a tenth outside of them).
  double cpu = 0.01;
  Bytes memory = MiB(4);
  // Unset: all day.
  std::optional<HoursOfDay> peak;
  friend bool operator==(const LoadProfile&, const LoadProfile&) = default;
};

struct ServiceLimits {
  uint32_t concurrency = 64;
  uint32_t queue = 256;
  absl::Duration request_timeout = absl::Seconds(30);  // kDotnet: zero is none, and the default
  uint32_t connections = 1024;
  Bytes header_size = KiB(16);
  Bytes body_size = MiB(8);
  absl::Duration header_timeout = absl::Seconds(10);
  absl::Duration io_timeout = absl::Seconds(30);
  absl::Duration idle_timeout = absl::Seconds(75);
  Bytes memory;  // of the SDK's alloc; 0: no limit
  friend bool operator==(const ServiceLimits&, const ServiceLimits&) = default;
};

struct ServiceHealth {
  // Empty: only the module's own health callback.
  std::string path;
  absl::Duration interval = absl::Seconds(5);
  absl::Duration timeout = absl::Seconds(5);
  friend bool operator==(const ServiceHealth&, const ServiceHealth&) = default;
};

// A flattened setting. `value` still holds its ${...} references.
using Settings = std::vector<std::pair<std::string, std::string>>;

// What an application of the dotnet runtime needs beside what every service has.
struct DotnetService {
  std::string app;       // absolute path of the main assembly; its folder is published
  Settings environment;  // variables; values still hold their ${...} references
  std::vector<std::string> arguments;
  std::vector<std::string> persist;    // valid for PersistRules::Parse
  std::string data_protection_name;    // empty: made of the service's name
  std::optional<Isolation> isolation;  // unset: the verdict decides
  bool share_libraries = true;         // as its group says
  friend bool operator==(const DotnetService&, const DotnetService&) = default;
};

struct Service {
  std::string name;  // [A-Za-z0-9_][A-Za-z0-9_.-]{0,62}
  std::string description;
  Runtime runtime = Runtime::kNative;
  std::string module;                              // kNative: absolute path of the shared object
  std::map<std::string, std::string> data_images;  // name the module asks for -> absolute path
  DotnetService dotnet;                            // kDotnet
  std::vector<Address> listen;                     // at least one
  std::optional<std::string> group;                // names its group
  LoadProfile load;
  ServiceLimits limits;
  ServiceHealth health;
  std::vector<std::string> warmup;  // targets, each begins with "/"
  Settings settings;
  Instances instances = Instances::kAll;  // kDotnet: kOne is the default
  bool overlap = true;
  bool access_log = false;
  friend bool operator==(const Service&, const Service&) = default;
};

struct GroupIdentity {
  // Empty: "cohost" when started as root and that user exists, else the starting user.
  std::string user;
  std::vector<std::string> supplementary_groups;
  friend bool operator==(const GroupIdentity&, const GroupIdentity&) = default;
};

struct GroupLimits {
  Bytes memory;        // cgroup backstop; 0: none
  double cpu = 0;      // cores; 0: none
  uint32_t tasks = 0;  // 0: none
  uint32_t open_files = 65536;
  friend bool operator==(const GroupLimits&, const GroupLimits&) = default;
};

// Knobs of .NET's runtime, of which a worker has one. The defaults are those of kDensity, measured
// with 50 applications in one worker; kThroughput is what .NET itself does for one application.
struct DotnetPolicy {
  DotnetProfile profile = DotnetProfile::kDensity;
  GarbageCollector gc = GarbageCollector::kWorkstation;
  bool concurrent = false;
  bool tiered_pgo = false;
  bool write_xor_execute = false;
  Bytes gen0_size = MiB(4);      // 0: the runtime's own choice
  uint32_t conserve_memory = 0;  // 0 to 9
  Bytes heap_limit;              // 0: three quarters of GroupLimits::memory, or none without it
  bool invariant_globalization = false;
  LibrarySharing share_libraries = LibrarySharing::kNone;
  // kListed: each valid for LibraryName::Parse.
  std::vector<std::string> shared_libraries;
  bool diagnostics = true;

  static DotnetPolicy Of(DotnetProfile profile);
  friend bool operator==(const DotnetPolicy&, const DotnetPolicy&) = default;
};

struct GroupPolicy {
  uint32_t workers = 1;  // slots
  GroupIdentity identity;
  GroupLimits limits;
  absl::Duration drain_timeout = absl::Seconds(30);
  absl::Duration stop_timeout = absl::Seconds(10);
  absl::Duration health_interval = absl::Seconds(5);
  absl::Duration start_timeout = absl::Seconds(60);
  Bytes log_size = MiB(10);  // of a worker's log file before it is rotated
  uint32_t log_files = 4;    // kept, the current one included
  // Names of Host::signing_keys: every file of a service of the group has to be signed by one of
  // them. Empty: none has to be signed.
  std::vector<std::string> signatures_from;
  DotnetPolicy dotnet;
  friend bool operator==(const GroupPolicy&, const GroupPolicy&) = default;
};

struct Group {
  std::string name;
  // Services of these classes that name no group come here (strategy load_profile).
  std::vector<LoadClass> match;
  GroupPolicy policy;
  friend bool operator==(const Group&, const Group&) = default;
};

struct Grouping {
  Strategy strategy = Strategy::kLoadProfile;
  uint32_t max_services_per_worker = 16;
  Bytes worker_memory = MiB(256);
  double worker_cpu = 1.0;
  friend bool operator==(const Grouping&, const Grouping&) = default;
};

// The signatures that are kept for one file are no more (signature_text.h).
inline constexpr size_t kMostSigningKeys = 32;

struct Host {
  std::string runtime_dir = "/run/cohost";
  std::string state_dir = "/var/lib/cohost";
  Address admin;                   // unix only; default: admin.sock in runtime_dir
  std::optional<Address> metrics;  // unset: no endpoint
  // Name -> absolute path of a public key in PEM; at most kMostSigningKeys.
  std::map<std::string, std::string> signing_keys;
  // Where .NET is installed; empty: it is looked for.
  std::string dotnet_root;
  // What gives IL of applications machine code: no compiler, one that is here, or one that is
  // restored.
  Precompilation precompilation = Precompilation::kRestore;
  // The compiler: a folder or a program; empty: it is looked for.
  std::string crossgen;
  friend bool operator==(const Host&, const Host&) = default;
};

struct Deployment {
  Host host;
  Grouping grouping;
  std::vector<Group> groups;
  // Policy of groups that placement derives.
  GroupPolicy group_defaults;
  std::vector<Service> services;
  friend bool operator==(const Deployment&, const Deployment&) = default;
};

}  // namespace cohost::supervisor
