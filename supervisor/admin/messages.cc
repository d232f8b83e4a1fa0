// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/messages.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "base/format/segment.h"
#include "base/strings.h"
#include "base/valid_utf8.h"
#include "supervisor/admin/memory_messages.h"
#include "supervisor/admin/message_values.h"

namespace cohost::supervisor {
namespace {

// Length of `c` in the header that carries a status: all but printable ASCII is %XX there.
size_t LengthInHeader(char c) { return c < 0x20 || c > 0x7e || c == '%' ? 3 : 1; }

cohost::v1::Runtime RuntimeValue(Runtime runtime) {
  switch (runtime) {
    case Runtime::kNative:
      return cohost::v1::RUNTIME_NATIVE;
    case Runtime::kDotnet:
      return cohost::v1::RUNTIME_DOTNET;
  }
  return cohost::v1::RUNTIME_UNSPECIFIED;
}

cohost::v1::LoadClass LoadClassValue(LoadClass load_class) {
  switch (load_class) {
    case LoadClass::kLatency:
      return cohost::v1::LOAD_CLASS_LATENCY;
    case LoadClass::kSteady:
      return cohost::v1::LOAD_CLASS_STEADY;
    case LoadClass::kBursty:
      return cohost::v1::LOAD_CLASS_BURSTY;
    case LoadClass::kBatch:
      return cohost::v1::LOAD_CLASS_BATCH;
    case LoadClass::kIdle:
      return cohost::v1::LOAD_CLASS_IDLE;
  }
  return cohost::v1::LOAD_CLASS_UNSPECIFIED;
}

// These three enums have the order of proto/types.proto, where 0 is UNSPECIFIED.
cohost::v1::ServiceState StateValue(ServiceStatus status) {
  static_assert(cohost::v1::SERVICE_STATE_STOPPED == static_cast<int>(ServiceStatus::kStopped) + 1);
  return static_cast<cohost::v1::ServiceState>(static_cast<int>(status) + 1);
}

cohost::v1::WorkerState StateValue(WorkerStatus status) {
  static_assert(cohost::v1::WORKER_STATE_FAILED == static_cast<int>(WorkerStatus::kFailed) + 1);
  return static_cast<cohost::v1::WorkerState>(static_cast<int>(status) + 1);
}

cohost::v1::RecycleReason ReasonValue(RecycleReason reason) {
  static_assert(cohost::v1::RECYCLE_REASON_CRASH == static_cast<int>(RecycleReason::kCrash));
  return static_cast<cohost::v1::RecycleReason>(reason);
}

// Upper bound of the bucket in which the quantile lies; what is above all bounds shows the last.
std::optional<absl::Duration> Quantile(const std::array<uint64_t, kLatencyBuckets>& buckets,
                                       double quantile) {
  uint64_t total = 0;
  for (uint64_t count : buckets) total += count;
  if (total == 0) return std::nullopt;
  const double rank = quantile * static_cast<double>(total);
  uint64_t below = 0;
  for (size_t i = 0; i < kLatencyBounds.size(); ++i) {
    below += buckets[i];
    if (static_cast<double>(below) >= rank) return absl::Seconds(kLatencyBounds[i]);
  }
  return absl::Seconds(kLatencyBounds.back());
}

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  // Ignoring the error: a status without the host's name is still one.
  (void)::gethostname(name.data(), name.size() - 1);
  return name.data();
}

void CountServices(const HostSnapshot& snapshot, admin::v1::Status& status) {
  uint32_t ready = 0;
  uint32_t failed = 0;
  uint32_t stopped = 0;
  for (const ServiceView& service : snapshot.services) {
    ready += service.status == ServiceStatus::kReady ? 1 : 0;
    failed += service.status == ServiceStatus::kFailed ? 1 : 0;
    stopped += service.status == ServiceStatus::kStopped ? 1 : 0;
  }
  status.set_services(static_cast<uint32_t>(snapshot.services.size()));
  status.set_services_ready(ready);
  status.set_services_failed(failed);
  status.set_services_stopped(stopped);
}

void CountWorkers(const HostSnapshot& snapshot, admin::v1::Status& status) {
  uint32_t running = 0;
  uint32_t ready = 0;
  uint32_t expected = 0;
  for (const WorkerView& worker : snapshot.workers) {
    running += worker.pid > 0 ? 1 : 0;
    ready += worker.status == WorkerStatus::kReady ? 1 : 0;
  }
  for (const GroupView& group : snapshot.groups) expected += group.workers;
  status.set_workers(running);
  status.set_workers_ready(ready);
  status.set_workers_expected(expected);
}

}  // namespace

bool IsHealthy(const HostSnapshot& snapshot) {
  return std::all_of(snapshot.services.begin(), snapshot.services.end(), [](const ServiceView& s) {
    return s.status == ServiceStatus::kStopped ||
           (s.status == ServiceStatus::kReady && s.ready_workers >= s.workers);
  });
}

admin::v1::Status StatusMessage(const HostSnapshot& snapshot, const std::string& version) {
  admin::v1::Status status;
  status.set_version(version);
  status.set_hostname(HostName());
  Set(status.mutable_started(), snapshot.started);
  status.set_revision(snapshot.revision);
  status.set_deployment_file(Text(snapshot.deployment_file));
  CountServices(snapshot, status);
  status.set_groups(static_cast<uint32_t>(snapshot.groups.size()));
  CountWorkers(snapshot, status);
  const admin::v1::Memory memory = MemoryMessage(snapshot);
  status.set_pss_bytes(memory.pss_bytes());
  status.set_private_bytes(memory.private_bytes());
  status.set_healthy(IsHealthy(snapshot));
  for (const std::string& remark : snapshot.remarks) status.add_remarks(Text(remark));
  status.set_keeper_pid(static_cast<uint32_t>(snapshot.keeper_pid));
  status.set_supervisor_pid(static_cast<uint32_t>(snapshot.supervisor_pid));
  status.set_supervisor_restarts(snapshot.supervisor_restarts);
  if (snapshot.ready_after) Set(status.mutable_ready_after(), *snapshot.ready_after);
  status.set_metrics_address(snapshot.metrics_address);
  return status;
}

admin::v1::Service ServiceMessage(const ServiceView& view) {
  admin::v1::Service service;
  service.set_name(view.name);
  service.set_runtime(RuntimeValue(view.runtime));
  service.set_load_class(LoadClassValue(view.load_class));
  service.set_group(view.group);
  service.set_state(StateValue(view.status));
  service.set_reason(Text(view.reason));
  for (const std::string& address : view.addresses) service.add_addresses(address);
  service.set_module_path(view.module_path);
  service.set_module_hash(view.module_hash);
  service.set_requests(view.totals.finished);
  service.set_errors(view.totals.answered[5]);
  service.set_in_flight(view.in_flight);
  service.set_queued(view.queued);
  Set(service.mutable_warmup(), view.warmup);
  service.set_ready_workers(view.ready_workers);
  service.set_workers(view.workers);
  service.set_stopped_by_operator(view.stopped_by_operator);
  if (const auto p50 = Quantile(view.totals.latency, 0.5)) Set(service.mutable_latency_p50(), *p50);
  if (const auto p99 = Quantile(view.totals.latency, 0.99)) {
    Set(service.mutable_latency_p99(), *p99);
  }
  service.set_description(view.description);
  service.set_backlog(view.backlog);
  service.set_backlog_waiting(view.backlog_waiting);
  return service;
}

admin::v1::Group GroupMessage(const GroupView& view, const HostSnapshot& snapshot) {
  admin::v1::Group group;
  group.set_name(view.name);
  group.set_declared(view.declared);
  for (const std::string& service : view.services) group.add_services(service);
  group.set_workers(view.workers);
  group.set_workers_ready(view.workers_ready);
  group.set_user(view.user);
  uint64_t pss = 0;
  uint64_t private_bytes = 0;
  uint64_t requests = 0;
  for (const WorkerView& worker : snapshot.workers) {
    if (worker.group != view.name) continue;
    pss += worker.memory.pss.count;
    private_bytes += worker.memory.private_bytes.count;
  }
  for (const ServiceView& service : snapshot.services) {
    if (service.group == view.name) requests += service.totals.finished;
  }
  group.set_pss_bytes(pss);
  group.set_private_bytes(private_bytes);
  group.set_requests(requests);
  return group;
}

admin::v1::Worker WorkerMessage(const WorkerView& view) {
  admin::v1::Worker worker;
  worker.set_group(view.group);
  worker.set_slot(view.slot);
  worker.set_generation(view.generation);
  worker.set_pid(static_cast<uint32_t>(view.pid));
  worker.set_state(StateValue(view.status));
  Set(worker.mutable_started(), view.started);
  for (const std::string& service : view.services) worker.add_services(service);
  worker.set_pss_bytes(view.memory.pss.count);
  worker.set_private_bytes(view.memory.private_bytes.count);
  Set(worker.mutable_cpu(), view.cpu);
  worker.set_threads(view.threads);
  worker.set_requests(view.requests);
  uint64_t restarts = 0;
  for (uint64_t count : view.restarts) restarts += count;
  worker.set_restarts(static_cast<uint32_t>(restarts));
  worker.set_last_reason(ReasonValue(view.last_reason));
  worker.set_last_exit(Text(view.last_exit));
  if (view.next_attempt) Set(worker.mutable_next_attempt(), *view.next_attempt);
  if (view.ready_after) Set(worker.mutable_ready_after(), *view.ready_after);
  worker.set_log_file(view.log_file);
  return worker;
}

admin::v1::PlanResponse PlanMessage(const PlanOutcome& outcome) {
  admin::v1::PlanResponse response;
  for (const ConfigProblem& problem : outcome.problems) {
    *response.add_problems() = ProblemMessage(problem);
  }
  if (!outcome.problems.empty()) return response;
  for (const PlannedGroupView& view : outcome.groups) {
    admin::v1::PlannedGroup& group = *response.add_groups();
    group.set_name(view.name);
    group.set_declared(view.declared);
    group.set_workers(view.workers);
    for (const auto& [name, reason] : view.services) {
      admin::v1::PlannedService& service = *group.add_services();
      service.set_name(name);
      service.set_reason(reason);
    }
    group.set_memory_bytes(view.memory.count);
    group.set_peak_cpu(view.peak_cpu);
    group.set_reason(view.reason);
  }
  for (const std::string& name : outcome.moved) response.add_moved(name);
  return response;
}

admin::v1::ConfigProblem ProblemMessage(const ConfigProblem& problem) {
  admin::v1::ConfigProblem message;
  message.set_file(Text(problem.file));
  message.set_line(problem.line);
  message.set_column(problem.column);
  message.set_key_path(Text(problem.key_path));
  message.set_message(Text(problem.message));
  return message;
}

admin::v1::ReloadResponse ReloadMessage(const ReloadOutcome& outcome) {
  admin::v1::ReloadResponse response;
  response.set_revision(outcome.revision);
  for (const std::string& name : outcome.added) response.add_added(name);
  for (const std::string& name : outcome.removed) response.add_removed(name);
  for (const std::string& name : outcome.changed) response.add_changed(name);
  for (const std::string& name : outcome.moved) response.add_moved(name);
  for (const ConfigProblem& problem : outcome.problems) {
    *response.add_problems() = ProblemMessage(problem);
  }
  return response;
}

admin::v1::RecycleResponse RecycleMessage(const RecycleOutcome& outcome) {
  admin::v1::RecycleResponse response;
  for (const std::string& slot : outcome.recycled) response.add_recycled(slot);
  for (const std::string& slot : outcome.failed) response.add_failed(Text(slot));
  return response;
}

admin::v1::Event EventMessage(const HostEvent& view) {
  admin::v1::Event event;
  event.set_id(view.id);
  event.set_cause_id(view.cause_id);
  Set(event.mutable_time(), view.time);
  event.set_kind(view.kind);
  event.set_group(view.group);
  if (view.slot) event.set_slot(*view.slot);
  event.set_generation(view.generation);
  event.set_service(view.service);
  event.set_from(view.from);
  event.set_to(view.to);
  event.set_message(Text(view.message));
  if (view.uid) event.set_uid(*view.uid);
  return event;
}

grpc::Status GrpcStatus(const absl::Status& status) {
  constexpr size_t kLongestText = 4096;
  const std::string text = Text(AsStd(status.message()));
  size_t end = 0;
  for (size_t length = 0; end < text.size(); ++end) {
    length += LengthInHeader(text[end]);
    if (length > kLongestText) break;
  }
  // The codes of both are the same numbers.
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      text.substr(0, CutBefore(text, end)));
}

}  // namespace cohost::supervisor
