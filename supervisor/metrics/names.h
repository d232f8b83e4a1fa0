// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// Every metric of the endpoint: its name, type, labels and meaning. This file is their manual.
//
// Labels. Metrics of a service carry `service` only (and `code_class`), so that rate() survives a
// move to another group; cohost_service_info joins the rest. Metrics of a worker carry `group` and
// `slot`, never a pid or a generation, so a restart makes no new series. Counters never fall while
// the host runs, whatever is replaced. Units are seconds and bytes.
namespace cohost::supervisor {

enum class MetricKind { kCounter, kGauge, kHistogram };

struct MetricName {
  std::string_view name;
  MetricKind kind;
  std::string_view help;
};

// Of a service: at most 30 series, modules' own metrics aside (at most 16 more).
inline constexpr int kMostSeriesPerService = 30;
inline constexpr MetricName kServiceInfo{
    "cohost_service_info", MetricKind::kGauge,
    "Where a service runs: always 1, with group, runtime and revision as labels."};
inline constexpr MetricName kServiceReady{"cohost_service_ready", MetricKind::kGauge,
                                          "1 when the service accepts connections, else 0."};
// code_class: 1xx to 5xx, or none for a connection that ended without an answer.
inline constexpr MetricName kServiceRequests{"cohost_service_requests_total", MetricKind::kCounter,
                                             "Requests finished, by class of the answer's code."};
inline constexpr MetricName kServiceDuration{
    "cohost_service_request_duration_seconds", MetricKind::kHistogram,
    "From a request's head until the last byte of the answer was handed to the kernel."};
inline constexpr MetricName kServiceInFlight{
    "cohost_service_requests_in_flight", MetricKind::kGauge, "Requests in the service's code now."};
inline constexpr MetricName kServiceQueued{"cohost_service_requests_queued", MetricKind::kGauge,
                                           "Requests that wait for limits.concurrency now."};
inline constexpr MetricName kServiceQueueFull{
    "cohost_service_queue_full_total", MetricKind::kCounter,
    "Requests answered 503 because limits.concurrency and limits.queue were reached."};
inline constexpr MetricName kServiceTimeouts{
    "cohost_service_request_timeouts_total", MetricKind::kCounter,
    "Requests answered 504 because limits.request_timeout was over."};
inline constexpr MetricName kServiceRefused{
    "cohost_service_requests_refused_total", MetricKind::kCounter,
    "Requests refused before the service saw them: malformed, too large or too slow."};
inline constexpr MetricName kServiceOldestRequest{
    "cohost_service_oldest_request_age_seconds", MetricKind::kGauge,
    "Age of the oldest request in the service's code, 0 without one."};
inline constexpr MetricName kServiceAllocated{"cohost_service_allocated_bytes", MetricKind::kGauge,
                                              "Memory that the service has from the SDK's alloc."};

// Of a worker: group and slot.
inline constexpr MetricName kWorkerPss{
    "cohost_worker_pss_bytes", MetricKind::kGauge,
    "Proportional set size: a page that n processes map counts 1/n."};
inline constexpr MetricName kWorkerPrivate{"cohost_worker_private_bytes", MetricKind::kGauge,
                                           "Pages that only this worker maps."};
inline constexpr MetricName kWorkerCpu{"cohost_worker_cpu_seconds_total", MetricKind::kCounter,
                                       "User and system time of all generations of the slot."};
// state: absent, starting, ready, unhealthy, draining, stopping, backoff, failed.
inline constexpr MetricName kWorkerState{
    "cohost_worker_state", MetricKind::kGauge,
    "1 for the state that the slot's serving worker is in, 0 for the others."};
// reason: as in cohost.v1.RecycleReason, lower case.
inline constexpr MetricName kWorkerRestarts{"cohost_worker_restarts_total", MetricKind::kCounter,
                                            "Replacements of the slot's worker, by reason."};
inline constexpr MetricName kWorkerAcceptErrors{
    "cohost_worker_accept_errors_total", MetricKind::kCounter,
    "Accepts of the slot's workers that failed for want of descriptors or memory."};
inline constexpr MetricName kWorkerThreads{"cohost_worker_threads", MetricKind::kGauge,
                                           "Threads of the worker."};

// Of a group: group.
inline constexpr MetricName kGroupServices{"cohost_group_services", MetricKind::kGauge,
                                           "Services placed in the group."};
inline constexpr MetricName kGroupWorkers{"cohost_group_workers", MetricKind::kGauge,
                                          "Slots of the group."};
inline constexpr MetricName kGroupWorkersReady{"cohost_group_workers_ready", MetricKind::kGauge,
                                               "Slots with a worker that serves."};

// Of the host.
inline constexpr MetricName kBuildInfo{"cohost_build_info", MetricKind::kGauge,
                                       "Version of the supervisor's build: always 1."};
inline constexpr MetricName kStartTime{"cohost_start_time_seconds", MetricKind::kGauge,
                                       "When the host was started, in seconds since 1970."};
inline constexpr MetricName kReadyAfter{
    "cohost_ready_after_seconds", MetricKind::kGauge,
    "From the start until every service was ready; missing until then."};
inline constexpr MetricName kRevision{"cohost_deployment_revision", MetricKind::kGauge,
                                      "Rises with every applied change of the deployment."};
// state: loading, ready, failed, draining, stopped.
inline constexpr MetricName kServices{"cohost_services", MetricKind::kGauge,
                                      "Services of the deployment, by state."};
inline constexpr MetricName kSupervisorRestarts{"cohost_supervisor_restarts_total",
                                                MetricKind::kCounter,
                                                "Times the keeper had to restart the supervisor."};
// process: keeper, supervisor.
inline constexpr MetricName kProcessPss{"cohost_process_pss_bytes", MetricKind::kGauge,
                                        "Proportional set size of Cohost's own processes."};
inline constexpr MetricName kProcessPrivate{"cohost_process_private_bytes", MetricKind::kGauge,
                                            "Private pages of Cohost's own processes."};
inline constexpr MetricName kProcessCpu{"cohost_process_cpu_seconds_total", MetricKind::kCounter,
                                        "User and system time of Cohost's own processes."};
inline constexpr MetricName kStoreFiles{"cohost_module_store_files", MetricKind::kGauge,
                                        "Modules and data images in the store."};
inline constexpr MetricName kStoreSize{"cohost_module_store_bytes", MetricKind::kGauge,
                                       "Size of the files in the store."};
// Of modules, by the last measurement of all mappings: on command (cohostctl memory --modules) and
// once a day; missing before the first. module: the first 12 hexadecimal digits of the SHA-256.
// There are as many as workers map, at most kMostModuleSeries of each; those beyond, the smallest
// by PSS, are left out. proto/admin.proto (ModuleBytes, ModuleMemory) says what each figure is.
inline constexpr size_t kMostModuleSeries = 1000;
inline constexpr MetricName kModulePss{
    "cohost_module_pss_bytes", MetricKind::kGauge,
    "Proportional set size of a module in all processes, at the last full measurement."};
inline constexpr MetricName kModuleShared{
    "cohost_module_shared_bytes", MetricKind::kGauge,
    "Pages of a module's file that several processes map, counted for each, at the last full "
    "measurement."};
inline constexpr MetricName kModulePrivate{
    "cohost_module_private_bytes", MetricKind::kGauge,
    "Pages of a module that one process alone has (file, relocated, .bss), at the last full "
    "measurement."};
inline constexpr MetricName kModuleProcesses{
    "cohost_module_processes", MetricKind::kGauge,
    "Processes that map a module, at the last full measurement."};
inline constexpr MetricName kModuleSaved{
    "cohost_module_saved_bytes", MetricKind::kGauge,
    "What a copy of the module's file for each service would take more, at the last full "
    "measurement."};
inline constexpr MetricName kModulesMeasured{
    "cohost_modules_measured_time_seconds", MetricKind::kGauge,
    "When modules were measured last, in seconds since 1970; missing before the first time."};
inline constexpr MetricName kEventsDropped{"cohost_events_dropped_total", MetricKind::kCounter,
                                           "Events that the history had no room for."};
inline constexpr MetricName kAcceptErrors{"cohost_accept_errors_total", MetricKind::kCounter,
                                          "Failed accepts on the admin socket."};
inline constexpr MetricName kModuleMetricsDropped{"cohost_module_metrics_dropped_total",
                                                  MetricKind::kCounter,
                                                  "Metrics of modules beyond 16 a service."};
inline constexpr MetricName kModuleMetricConflicts{
    "cohost_module_metric_conflicts", MetricKind::kGauge,
    "Series of modules left out now: a bad name, or another service's type for it."};

// Of modules: cohost_module_<name>, label service.
inline constexpr std::string_view kModuleMetricHelp = "Reported by the services' own modules.";

// The name under which a module's metric is shown; a counter's ends in _total. Unset unless `name`
// is [a-z_][a-z0-9_]* of at most 64 characters, when a gauge has a suffix that belongs to another
// type, or when the host itself has a metric of that name.
std::optional<std::string> ModuleMetricName(std::string_view name, MetricKind kind);

}  // namespace cohost::supervisor
