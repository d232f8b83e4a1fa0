// SPDX-License-Identifier: Apache-2.0
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

void ServiceTotals::Add(const ServiceTotals& other) {
  started += other.started;
  finished += other.finished;
  for (size_t i = 0; i < answered.size(); ++i) answered[i] += other.answered[i];
  for (size_t i = 0; i < limit_hits.size(); ++i) limit_hits[i] += other.limit_hits[i];
  latency_sum_ns += other.latency_sum_ns;
  for (size_t i = 0; i < latency.size(); ++i) latency[i] += other.latency[i];
  bytes_received += other.bytes_received;
  bytes_sent += other.bytes_sent;
  connections += other.connections;
}

const char* Name(ServiceStatus status) {
  switch (status) {
    case ServiceStatus::kLoading:
      return "loading";
    case ServiceStatus::kReady:
      return "ready";
    case ServiceStatus::kFailed:
      return "failed";
    case ServiceStatus::kDraining:
      return "draining";
    case ServiceStatus::kStopped:
      return "stopped";
  }
  return "unknown";
}

const char* Name(WorkerStatus status) {
  switch (status) {
    case WorkerStatus::kAbsent:
      return "absent";
    case WorkerStatus::kStarting:
      return "starting";
    case WorkerStatus::kReady:
      return "ready";
    case WorkerStatus::kUnhealthy:
      return "unhealthy";
    case WorkerStatus::kDraining:
      return "draining";
    case WorkerStatus::kStopping:
      return "stopping";
    case WorkerStatus::kBackoff:
      return "backoff";
    case WorkerStatus::kFailed:
      return "failed";
  }
  return "unknown";
}

const char* Name(RecycleReason reason) {
  switch (reason) {
    case RecycleReason::kNone:
      return "none";
    case RecycleReason::kRequests:
      return "requests";
    case RecycleReason::kAge:
      return "age";
    case RecycleReason::kSchedule:
      return "schedule";
    case RecycleReason::kPrivateMemory:
      return "private_memory";
    case RecycleReason::kMemoryGrowth:
      return "memory_growth";
    case RecycleReason::kUnhealthy:
      return "unhealthy";
    case RecycleReason::kStalled:
      return "stalled";
    case RecycleReason::kConfiguration:
      return "configuration";
    case RecycleReason::kModuleChange:
      return "module_change";
    case RecycleReason::kOperator:
      return "operator";
    case RecycleReason::kHostPressure:
      return "host_pressure";
    case RecycleReason::kCrash:
      return "crash";
  }
  return "unknown";
}

}  // namespace cohost::supervisor
