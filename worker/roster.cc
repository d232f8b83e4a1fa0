// SPDX-License-Identifier: Apache-2.0
#include "worker/roster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/valid_utf8.h"
#include "worker/control/assign_request.h"
#include "worker/control/proto_time.h"
#include "worker/loop/countdown.h"
#include "worker/service_removal.h"

namespace cohost::worker {
namespace {

constexpr absl::Duration kDefaultDrain = absl::Seconds(30);
constexpr absl::Duration kLongestDrain = absl::Hours(24);
constexpr absl::Duration kDefaultProbe = absl::Seconds(5);
constexpr absl::Duration kLongestProbe = absl::Minutes(10);

absl::Duration Limit(bool is_set, const google::protobuf::Duration& field, absl::Duration otherwise,
                     absl::Duration longest) {
  return is_set ? std::clamp(FromProto(field), absl::ZeroDuration(), longest) : otherwise;
}

}  // namespace

// One service from its assignment to its removal.
struct Roster::Record {
  ServiceEntry* entry = nullptr;
  std::string health_path;
  SteadyTime begin;

  // While it loads: who waits for the result, and the load.
  std::vector<AssignDone> waiters;
  std::unique_ptr<ServiceLoad> load;
  // Once it has settled.
  v1::AssignResponse response;
  // Its code has returned everywhere, or never ran: its object can be destroyed.
  bool disposable = false;

  // Set when its removal is asked for.
  std::vector<RemoveDone> removers;
  absl::Duration drain_limit;
};

Roster::Roster(WorkerParts& parts, const ListenerBook& listeners, MakeHosted make_hosted)
    : parts_(parts), listeners_(listeners), make_hosted_(std::move(make_hosted)), prober_(parts) {}

Roster::~Roster() = default;

absl::Status Roster::CheckAssign(const v1::AssignRequest& request) const {
  if (closed_) return absl::FailedPreconditionError("the worker is draining");
  const auto found = records_.find(request.service_id());
  if (found == records_.end()) return DescribeService(request).status();
  const Record& record = *found->second;
  if (!record.removers.empty()) {
    return absl::FailedPreconditionError("the service is being removed from this worker");
  }
  if (record.entry->revision() != request.revision()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the worker has revision ", record.entry->revision(), " of service ",
                     record.entry->name(), ": another one needs another worker"));
  }
  return absl::OkStatus();
}

void Roster::Assign(const v1::AssignRequest& request, AssignDone done) {
  const absl::Status status = CheckAssign(request);
  if (!status.ok()) return done(status);
  const auto found = records_.find(request.service_id());
  if (found != records_.end()) {
    Record& record = *found->second;
    if (record.load != nullptr) return record.waiters.push_back(std::move(done));
    return done(record.response);
  }
  if (loading_ != nullptr) return waiting_.push_back({request, std::move(done)});
  BeginLoad(request, std::move(done));
}

void Roster::BeginLoad(const v1::AssignRequest& request, AssignDone done) {
  absl::StatusOr<ServiceDescription> description = DescribeService(request);
  if (!description.ok()) return done(description.status());
  const absl::StatusOr<ServiceEntry*> entry = parts_.table.Add(*std::move(description));
  if (!entry.ok()) return done(entry.status());

  Record& record = *(records_[request.service_id()] = std::make_unique<Record>());
  loading_ = &record;
  record.entry = *entry;
  record.health_path = request.health_path();
  record.begin = parts_.clock.Steady();
  record.waiters.push_back(std::move(done));
  parts_.table.SetState(*record.entry, RowState::kLoading);
  // Written before the module is touched: when it takes the worker down, the log names it.
  parts_.log.Info("loading service", {{"service", record.entry->name()},
                                      {"module", request.module_path()},
                                      {"request", request.request_id()}});

  const uint64_t id = request.service_id();
  record.load = std::make_unique<ServiceLoad>(
      parts_, prober_, listeners_, *record.entry, request,
      [this, id](const absl::Status& status) { OnLoaded(id, status); });
  absl::StatusOr<std::unique_ptr<HostedService>> hosted = make_hosted_(request, *record.entry);
  if (!hosted.ok()) return record.load->Abort(hosted.status());
  record.entry->Host(*std::move(hosted));
  record.load->Begin();
}

void Roster::OnLoaded(uint64_t id, const absl::Status& status) {
  Record& record = *records_.at(id);
  const StartOutcome start = record.load->start();
  if (status.ok() || start != StartOutcome::kSucceeded) {
    return Settle(record, status, start != StartOutcome::kRunning);
  }
  // It runs, but did not answer as it must: its own stop, before anybody is told.
  DrainAndStop(parts_, *record.entry, absl::ZeroDuration(), kUnreadyStopLimit,
               [this, &record, status](const RemovalResult& result) {
                 Settle(record, status, result.whole);
               });
}

void Roster::Settle(Record& record, const absl::Status& status, bool disposable) {
  record.disposable = disposable;
  v1::AssignResponse& response = record.response;
  response.set_service_id(record.entry->id());
  response.set_revision(record.entry->revision());
  response.set_state(status.ok() ? cohost::v1::SERVICE_STATE_READY
                                 : cohost::v1::SERVICE_STATE_FAILED);
  // What a module says may be no UTF-8, and then nobody could read the whole message.
  response.set_reason(ValidUtf8(AsStd(status.message())));
  response.set_row(record.entry->row_index());
  response.set_warmup_requests(record.load->warmup_requests());
  ToProto(parts_.clock.Steady() - record.begin, *response.mutable_load_time());
  record.load.reset();
  if (!status.ok()) parts_.table.SetState(*record.entry, RowState::kFailed);
  LogLoad(record);

  loading_ = nullptr;
  for (const AssignDone& done : std::exchange(record.waiters, {})) done(response);
  if (!record.removers.empty()) BeginRemoval(record);
  BeginNextLoad();
  TellIfQuiet();
}

void Roster::LogLoad(const Record& record) const {
  const v1::AssignResponse& response = record.response;
  if (response.state() == cohost::v1::SERVICE_STATE_READY) {
    parts_.log.Info("service ready",
                    {{"service", record.entry->name()},
                     {"seconds", absl::ToDoubleSeconds(FromProto(response.load_time()))}});
  } else {
    parts_.log.Warning("service failed",
                       {{"service", record.entry->name()}, {"reason", response.reason()}});
  }
}

void Roster::BeginNextLoad() {
  while (loading_ == nullptr && !waiting_.empty()) {
    WaitingAssign next = std::move(waiting_.front());
    waiting_.pop_front();
    // Checked again: much may have changed while it waited.
    Assign(next.request, std::move(next.done));
  }
}

void Roster::Remove(const v1::RemoveRequest& request, RemoveDone done) {
  if (closed_) return done(absl::FailedPreconditionError("the worker is draining"));
  const auto found = records_.find(request.service_id());
  if (found == records_.end()) return done(absl::NotFoundError("no such service in this worker"));
  Record& record = *found->second;
  record.removers.push_back(std::move(done));
  if (record.removers.size() > 1) return;
  record.drain_limit =
      Limit(request.has_drain_timeout(), request.drain_timeout(), kDefaultDrain, kLongestDrain);
  ++removals_;
  if (record.load == nullptr) return BeginRemoval(record);
  // Settle goes on with the removal.
  record.load->Abort(absl::CancelledError("removed while loading"));
}

void Roster::BeginRemoval(Record& record) {
  if (record.response.state() != cohost::v1::SERVICE_STATE_READY) {
    return EndRemoval(record, 0, record.disposable);
  }
  DrainAndStop(parts_, *record.entry, record.drain_limit, kStopLimit,
               [this, &record](const RemovalResult& result) {
                 EndRemoval(record, result.cancelled, result.whole);
               });
}

void Roster::EndRemoval(Record& record, uint32_t cancelled, bool disposable) {
  ServiceEntry& entry = *record.entry;
  parts_.table.SetState(entry, RowState::kStopped);
  // Code that has not returned keeps its object, and the id, until the worker ends.
  absl::Status removed = absl::FailedPreconditionError("its code has not returned");
  if (disposable && !prober_.InCallback(entry.id())) removed = parts_.table.Remove(entry);
  if (!removed.ok()) {
    parts_.log.Warning("a removed service stays mapped",
                       {{"service", entry.name()}, {"reason", AsStd(removed.message())}});
  }
  const uint64_t id = record.response.service_id();
  const std::unique_ptr<Record> ended = std::move(records_.at(id));
  records_.erase(id);
  --removals_;
  v1::RemoveResponse response;
  response.set_cancelled(cancelled);
  for (const RemoveDone& done : ended->removers) done(response);
  TellIfQuiet();
}

void Roster::Probe(const v1::ProbeRequest& request, std::function<void(v1::ProbeResponse)> done) {
  const absl::Duration limit =
      Limit(request.has_timeout(), request.timeout(), kDefaultProbe, kLongestProbe);
  std::vector<uint64_t> ids(request.service_ids().begin(), request.service_ids().end());
  if (ids.empty()) {
    for (const auto& [id, record] : records_) ids.push_back(id);
  }
  Countdown countdown(parts_.io);
  const auto response = std::make_shared<v1::ProbeResponse>();
  for (const uint64_t id : ids) {
    // A pointer to an element stays valid while others are added.
    v1::ServiceHealth* const health = response->add_services();
    health->set_service_id(id);
    const auto found = records_.find(id);
    if (found == records_.end()) {
      health->set_reason("not in this worker");
      continue;
    }
    Record& record = *found->second;
    if (record.entry->state() != RowState::kReady) {
      health->set_reason(record.response.reason().empty() ? "not ready" : record.response.reason());
      continue;
    }
    prober_.Probe(*record.entry, record.health_path, limit,
                  [response, health, ended = countdown.Expect()](const ProbeResult& result) {
                    health->set_healthy(result.status.ok());
                    health->set_reason(ValidUtf8(AsStd(result.status.message())));
                    ToProto(result.latency, *health->mutable_latency());
                    ended();
                  });
  }
  // Every probe keeps its own limit; this one is never reached.
  countdown.Wait(limit + absl::Seconds(1),
                 [response, done = std::move(done)](uint32_t) { done(*response); });
}

v1::StatisticsBatch Roster::Statistics() {
  v1::StatisticsBatch batch;
  ToProto(parts_.clock.Wall(), *batch.mutable_time());
  const HandlerPool::Statistics pool = parts_.pool.statistics();
  batch.set_pool_threads(pool.alive);
  batch.set_pool_busy(pool.busy);
  if (pool.queue_age > absl::ZeroDuration()) {
    ToProto(pool.queue_age, *batch.mutable_pool_queue_age());
  }
  const SteadyTime now = parts_.clock.Steady();
  for (const auto& [id, record] : records_) {
    v1::ServiceStatistics& service = *batch.add_services();
    const ServiceGauges gauges = record->entry->gauges(now);
    service.set_service_id(id);
    service.set_in_flight(gauges.in_flight);
    service.set_queued(gauges.queued);
    service.set_connections(gauges.connections);
    if (gauges.oldest_request_age > absl::ZeroDuration()) {
      ToProto(gauges.oldest_request_age, *service.mutable_oldest_request_age());
    }
    if (gauges.oldest_queued_age > absl::ZeroDuration()) {
      ToProto(gauges.oldest_queued_age, *service.mutable_oldest_queued_age());
    }
    HostedService* const hosted = record->entry->hosted();
    if (hosted == nullptr) continue;
    service.set_allocated_bytes(hosted->allocated_bytes());
    service.set_timers(hosted->timers());
    service.set_metrics_dropped(hosted->metrics_dropped());
    for (ModuleMetricValue& metric : hosted->Metrics()) {
      v1::ModuleMetric& out = *service.add_metrics();
      out.set_name(std::move(metric.name));
      out.set_is_counter(metric.is_counter);
      out.set_value(metric.value);
    }
  }
  return batch;
}

void Roster::Close() {
  closed_ = true;
  for (const WaitingAssign& waiting : std::exchange(waiting_, {})) {
    waiting.done(absl::FailedPreconditionError("the worker is draining"));
  }
  if (loading_ != nullptr) loading_->load->Abort(absl::CancelledError("the worker is draining"));
}

void Roster::WhenQuiet(std::function<void()> done) {
  when_quiet_ = std::move(done);
  TellIfQuiet();
}

void Roster::TellIfQuiet() {
  if (when_quiet_ == nullptr || loading_ != nullptr || removals_ > 0) return;
  std::exchange(when_quiet_, nullptr)();
}

std::vector<ServiceEntry*> Roster::ready() const {
  std::vector<ServiceEntry*> ready;
  for (const auto& [id, record] : records_) {
    if (record->entry->state() == RowState::kReady) ready.push_back(record->entry);
  }
  return ready;
}

}  // namespace cohost::worker
