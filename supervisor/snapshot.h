// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/format/segment.h"
#include "base/units.h"
#include "supervisor/config/deployment.h"
#include "supervisor/profile/module_memory.h"

// How the host is, as plain values: built by the loop thread, immutable once published, read by the
// admin and metrics threads without a lock on anything that the loop uses.
namespace cohost::supervisor {

// Totals of one service since it was first deployed here; they never fall (invariant 7).
struct ServiceTotals {
  uint64_t started = 0;
  uint64_t finished = 0;
  std::array<uint64_t, 6> answered{};    // [1]..[5] by code class, [0] closed without an answer
  std::array<uint64_t, 6> limit_hits{};  // by LimitHit
  uint64_t latency_sum_ns = 0;
  std::array<uint64_t, kLatencyBuckets> latency{};  // not cumulative
  uint64_t bytes_received = 0;
  uint64_t bytes_sent = 0;
  uint64_t connections = 0;

  void Add(const ServiceTotals& other);
  friend bool operator==(const ServiceTotals&, const ServiceTotals&) = default;
};

// Values as in proto/types.proto; the state machine of a worker is in pool/worker_state.h.
enum class ServiceStatus { kLoading, kReady, kFailed, kDraining, kStopped };
enum class WorkerStatus {
  kAbsent,
  kStarting,
  kReady,
  kUnhealthy,
  kDraining,
  kStopping,
  kBackoff,
  kFailed
};
enum class RecycleReason {
  kNone,
  kRequests,
  kAge,
  kSchedule,
  kPrivateMemory,
  kMemoryGrowth,
  kUnhealthy,
  kStalled,
  kConfiguration,
  kModuleChange,
  kOperator,
  kHostPressure,
  kCrash,
};
// snake_case, as in metrics, logs and events: "private_memory", "backoff".
const char* Name(ServiceStatus status);
const char* Name(WorkerStatus status);
const char* Name(RecycleReason reason);
inline constexpr size_t kRecycleReasons = 13;

struct ModuleMetricView {
  std::string name;
  bool is_counter = false;
  double value = 0;  // sum over workers; counters never fall
};

struct ServiceView {
  uint64_t id = 0;
  std::string name;
  std::string description;
  Runtime runtime = Runtime::kNative;
  LoadClass load_class = LoadClass::kSteady;
  std::string group;
  uint64_t revision = 0;
  ServiceStatus status = ServiceStatus::kLoading;
  std::string reason;
  std::vector<std::string> addresses;
  std::string module_path;
  std::string module_hash;
  ServiceTotals totals;
  uint32_t in_flight = 0;
  uint32_t queued = 0;
  std::optional<absl::Duration> oldest_request_age;
  std::optional<absl::Duration> oldest_queued_age;
  absl::Duration warmup;
  uint32_t ready_workers = 0;
  uint32_t workers = 0;
  bool stopped_by_operator = false;
  uint32_t backlog = 0;
  uint32_t backlog_waiting = 0;
  uint64_t allocated_bytes = 0;
  std::vector<ModuleMetricView> metrics;
  uint64_t metrics_dropped = 0;
};

struct ProcessMemoryView {
  Bytes pss;
  Bytes private_bytes;
  Bytes anonymous;
};

struct WorkerView {
  std::string group;
  uint32_t slot = 0;
  uint32_t generation = 0;
  pid_t pid = 0;
  WorkerStatus status = WorkerStatus::kAbsent;
  absl::Time started;
  std::vector<std::string> services;
  ProcessMemoryView memory;
  absl::Duration cpu;
  uint32_t threads = 0;
  uint64_t requests = 0;
  // Of this slot: accepts that failed for want of descriptors or memory.
  uint64_t accept_errors = 0;
  // Of this slot, by the reason for the new generation.
  std::array<uint64_t, kRecycleReasons> restarts{};
  RecycleReason last_reason = RecycleReason::kNone;
  std::string last_exit;
  std::optional<absl::Time> next_attempt;
  std::optional<absl::Duration> ready_after;
  std::string log_file;
  std::string diagnostics_folder;  // where its .NET runtime has its socket; empty: nowhere
};

struct GroupView {
  std::string name;
  bool declared = false;
  std::vector<std::string> services;
  uint32_t workers = 0;
  uint32_t workers_ready = 0;
  std::string user;
  std::string reason;  // why placement made it, one line
  std::map<std::string, std::string> service_reasons;
  Bytes planned_memory;
  double planned_peak_cpu = 0;
};

struct ModuleView {
  std::string hash;
  std::string path;
  Bytes size;
  std::string source_path;
  std::vector<std::string> services;
  // "module", "data image", and of applications "assembly", "file", "program".
  std::string_view kind = "module";
  absl::Time published;  // first
};

struct HostSnapshot {
  uint64_t revision = 0;
  absl::Time started;
  std::string deployment_file;
  std::string runtime_dir;
  std::string state_dir;
  std::string metrics_address;
  pid_t keeper_pid = 0;
  pid_t supervisor_pid = 0;
  uint32_t supervisor_restarts = 0;
  std::optional<absl::Duration> ready_after;
  std::vector<std::string> remarks;
  // Each ordered by name; workers by group, slot, generation.
  std::vector<ServiceView> services;
  std::vector<GroupView> groups;
  std::vector<WorkerView> workers;
  std::vector<ModuleView> modules;
  ProcessMemoryView supervisor_memory;
  ProcessMemoryView keeper_memory;
  // Of the last time that all mappings were read; null before the first.
  std::shared_ptr<const MemoryReport> module_memory;
  absl::Duration supervisor_cpu;
  absl::Duration keeper_cpu;
  uint64_t events_dropped = 0;
  uint64_t accept_errors = 0;
};

}  // namespace cohost::supervisor
