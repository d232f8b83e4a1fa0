// SPDX-License-Identifier: Apache-2.0
#include "worker/dotnet/dotnet_service.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost::worker::dotnet {
namespace {

// Below every probe's own limit, so that the answer says what is late.
constexpr absl::Duration kHealthLimit = absl::Seconds(4);
constexpr size_t kHealthReasonSize = 512;
// The worker waits for kStopLimit at most (worker/service_removal.h).
constexpr absl::Duration kStopLimit = absl::Milliseconds(4500);
// A client that has just got an answer may be sending its next request: an idle connection stays
// open for so long in a drain, since HTTP/1.1 has no other way to tell.
constexpr absl::Duration kIdleGrace = absl::Seconds(1);

std::vector<Pair> PairsOf(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<Pair> result;
  result.reserve(pairs.size());
  for (const auto& [key, value] : pairs) result.push_back({key.c_str(), value.c_str()});
  return result;
}

std::vector<const char*> TextsOf(const std::vector<std::string>& texts) {
  std::vector<const char*> result;
  result.reserve(texts.size());
  for (const std::string& text : texts) result.push_back(text.c_str());
  return result;
}

}  // namespace

// What is told about the service, on any thread. Outlives the service's object, which lets go of it
// at its end.
class DotnetService::Events final : public ServiceEvents,
                                    public std::enable_shared_from_this<Events> {
 public:
  Events(const LentParts& lent, std::string name) : lent_(lent), name_(std::move(name)) {
    Progress();
  }

  // I/O thread, like everything that is not ServiceEvents' or marked otherwise.
  void ExpectStarted(std::function<void(absl::Status)> done) { started_ = std::move(done); }
  void ExpectDrained(DrainDone done) { drained_.push_back(std::move(done)); }
  void ExpectStopped(std::function<void()> done) { stopped_ = std::move(done); }
  void Forget() {
    started_ = nullptr;
    drained_.clear();
    stopped_ = nullptr;
  }
  void OnStarted(const absl::Status& status) {
    if (auto done = std::exchange(started_, nullptr)) done(status);
  }

  // Any thread.
  SteadyTime last_progress() const { return {progress_.load(std::memory_order_relaxed)}; }
  uint64_t exceptions() const { return exceptions_.load(std::memory_order_relaxed); }
  uint64_t overdue() const { return overdue_.load(std::memory_order_relaxed); }
  // Why it does not serve any more; empty: it does.
  std::string end() const {
    MutexLock lock(mutex_);
    return end_;
  }

  // ServiceEvents
  void Started(bool ok, std::string reason) override {
    Progress();
    lent_.post_to_io([self = shared_from_this(), ok, reason = std::move(reason)] {
      self->OnStarted(ok ? absl::OkStatus() : absl::FailedPreconditionError(reason));
    });
  }
  void Progress() override {
    progress_.store(lent_.clock.Steady().nanoseconds, std::memory_order_relaxed);
  }
  void Drained(uint32_t cancelled) override {
    lent_.post_to_io([self = shared_from_this(), cancelled] {
      for (const DrainDone& done : std::exchange(self->drained_, {})) {
        done({.cancelled = cancelled, .running = 0});
      }
    });
  }
  void Stopped() override {
    lent_.post_to_io([self = shared_from_this()] {
      if (auto done = std::exchange(self->stopped_, nullptr)) done();
    });
  }
  void Noticed(Notice notice, const std::string& text) override;

 private:
  void NoteEnd(std::string why) {
    MutexLock lock(mutex_);
    if (end_.empty()) end_ = std::move(why);
  }

  // Set in the constructor, never changed.
  const LentParts& lent_;
  const std::string name_;

  // I/O thread only.
  std::function<void(absl::Status)> started_;
  std::vector<DrainDone> drained_;
  std::function<void()> stopped_;

  std::atomic<int64_t> progress_{0};
  std::atomic<uint64_t> exceptions_{0};
  std::atomic<uint64_t> overdue_{0};
  mutable Mutex mutex_;
  std::string end_ ABSL_GUARDED_BY(mutex_);
};

void DotnetService::Events::Noticed(Notice notice, const std::string& text) {
  switch (notice) {
    case Notice::kWarning:
      lent_.log.Warning("an application touches what its worker shares",
                        {{"service", name_}, {"what", text}});
      return;
    case Notice::kUnhandledException:
      exceptions_.fetch_add(1, std::memory_order_relaxed);
      lent_.log.Error("an exception that nobody caught", {{"service", name_}, {"stack", text}});
      return;
    case Notice::kExit:
      lent_.log.Error("an application asked for the end of the process",
                      {{"service", name_}, {"what", text}});
      NoteEnd(absl::StrCat("it asked for the end of the process: ", text));
      return;
    case Notice::kEnded:
      lent_.log.Warning("an application has ended by itself", {{"service", name_}, {"what", text}});
      NoteEnd(absl::StrCat("the application has ended by itself: ", text));
      return;
    case Notice::kOverdueRequest:
      overdue_.fetch_add(1, std::memory_order_relaxed);
      lent_.log.Warning("a request did not end at its limit",
                        {{"service", name_}, {"request", text}});
      return;
  }
}

DotnetService::DotnetService(DotnetRuntime& runtime, DotnetServiceDescription description,
                             ServiceEntry& entry)
    : runtime_(runtime),
      description_(std::move(description)),
      entry_(entry),
      events_(std::make_shared<Events>(runtime.lent(), entry.name())) {
  runtime_.host().Add(
      row(),
      {.name = entry.name(), .service_id = entry.id(), .gate = entry.gate(), .events = events_});
}

DotnetService::~DotnetService() { events_->Forget(); }

void DotnetService::Start(std::function<void(absl::Status)> done) {
  events_->ExpectStarted(std::move(done));
  // A service whose start runs is not destroyed.
  runtime_.WhenStarted(description_.solo ? description_.application : "",
                       [this](const absl::Status& status) {
                         events_->Progress();
                         if (!status.ok()) return events_->OnStarted(status);
                         Load();
                       });
}

void DotnetService::Load() {
  const std::vector<Pair> settings = PairsOf(description_.settings);
  const std::vector<Pair> environment = PairsOf(description_.environment);
  const std::vector<const char*> arguments = TextsOf(description_.arguments);
  const std::vector<const char*> shared = TextsOf(description_.shared_libraries);
  std::vector<Endpoint> endpoints;
  const std::vector<ServiceEndpoint>& own = entry_.description().endpoints;
  for (size_t i = 0; i < own.size(); ++i) {
    const bool named = i < description_.endpoints.size();
    endpoints.push_back({own[i].address.c_str(), named ? description_.endpoints[i].c_str() : ""});
  }
  const LoadRequest request{
      .size = sizeof(LoadRequest),
      .row = row(),
      .name = entry_.name().c_str(),
      .application = description_.application.c_str(),
      .data_folder = description_.data_folder.c_str(),
      .data_protection_name = description_.data_protection_name.c_str(),
      .settings = settings.data(),
      .environment = environment.data(),
      .arguments = arguments.data(),
      .endpoints = endpoints.data(),
      .settings_count = static_cast<uint32_t>(settings.size()),
      .environment_count = static_cast<uint32_t>(environment.size()),
      .arguments_count = static_cast<uint32_t>(arguments.size()),
      .endpoints_count = static_cast<uint32_t>(endpoints.size()),
      .shared_libraries = shared.data(),
      .shared_libraries_count = static_cast<uint32_t>(shared.size()),
      .concurrency = entry_.limits().concurrency,
      .queue = entry_.limits().queue,
      .request_timeout_ns = absl::ToInt64Nanoseconds(entry_.limits().request_timeout),
      .segment_row = &entry_.row(),
  };
  runtime_.shim()->load(&request);
}

SteadyTime DotnetService::last_progress() const { return events_->last_progress(); }

void DotnetService::Serve(UniqueFd connected, ServiceEntry& entry, Arrival arrival,
                          std::string /*peer*/, uint64_t listener) {
  if (arrival == Arrival::kAccepted) {
    Add(entry.counters().connections, 1);
    entry.row().last_accept_ns.store(
        static_cast<uint64_t>(runtime_.lent().clock.Steady().nanoseconds),
        std::memory_order_relaxed);
  } else {
    // What connection_ended takes away again.
    entry.gate()->Add();
  }
  const std::vector<ServiceEndpoint>& endpoints = entry.description().endpoints;
  const auto found = std::find_if(endpoints.begin(), endpoints.end(), [&](const auto& endpoint) {
    return endpoint.listener_token == listener;
  });
  const auto index = found == endpoints.end() ? 0 : found - endpoints.begin();
  runtime_.shim()->serve(row(), static_cast<uint32_t>(index), connected.Release(),
                         arrival == Arrival::kInternal ? Channel::kInternal : Channel::kClient);
}

void DotnetService::DrainService(ServiceEntry& entry, absl::Duration limit, CancelReason /*reason*/,
                                 HandOver /*hand_over*/, DrainDone done) {
  runtime_.lent().table.SetState(entry, RowState::kDraining);
  if (runtime_.shim() == nullptr) {
    return runtime_.lent().post_to_io([done = std::move(done)] { done({}); });
  }
  events_->ExpectDrained(std::move(done));
  runtime_.shim()->drain(row(), absl::ToInt64Milliseconds(std::min(kIdleGrace, limit)),
                         absl::ToInt64Milliseconds(limit));
}

// Its hosted services end with its stop.
void DotnetService::Drain(std::function<void()> done) {
  runtime_.lent().post_to_io(std::move(done));
}

void DotnetService::Stop(std::function<void()> done) {
  if (runtime_.shim() == nullptr) return runtime_.lent().post_to_io(std::move(done));
  events_->ExpectStopped(std::move(done));
  runtime_.shim()->stop(row(), absl::ToInt64Milliseconds(kStopLimit));
}

HealthAnswer DotnetService::Health() {
  std::string end = events_->end();
  if (!end.empty()) return {false, std::move(end)};
  std::array<char, kHealthReasonSize> reason{};
  const int32_t healthy =
      runtime_.shim()->health(row(), absl::ToInt64Milliseconds(kHealthLimit), reason.data(),
                              static_cast<int32_t>(reason.size()));
  reason.back() = '\0';
  return {healthy != 0, reason.data()};
}

Gauges DotnetService::ReadGauges() const {
  Gauges gauges{};
  if (runtime_.shim() != nullptr) runtime_.shim()->gauges(row(), &gauges);
  return gauges;
}

std::optional<RequestGauges> DotnetService::request_gauges() {
  const Gauges gauges = ReadGauges();
  return RequestGauges{.in_flight = gauges.in_flight,
                       .queued = gauges.queued,
                       .oldest_request = {static_cast<int64_t>(gauges.oldest_request_ns)},
                       .oldest_queued = {static_cast<int64_t>(gauges.oldest_queued_ns)}};
}

uint64_t DotnetService::allocated_bytes() const { return ReadGauges().allocated_bytes; }

std::vector<ModuleMetricValue> DotnetService::Metrics() {
  return {{"unhandled_exceptions_total", true, static_cast<double>(events_->exceptions())},
          {"overdue_requests_total", true, static_cast<double>(events_->overdue())}};
}

}  // namespace cohost::worker::dotnet
