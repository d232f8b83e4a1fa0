// SPDX-License-Identifier: Apache-2.0
#include "worker/worker.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/resident_pages.h"
#include "boost/asio/post.hpp"
#include "worker/process_setup.h"

namespace cohost::worker {
namespace {

using grpc::health::v1::HealthCheckResponse;

// The loop's sign of life in the segment.
constexpr absl::Duration kProgressInterval = absl::Seconds(1);
// After the last service has become ready: what only the start needed is not needed any more.
constexpr absl::Duration kSettleTime = absl::Seconds(2);
// A drain without a limit is held to a day: an end that nobody waits for is not an end.
constexpr absl::Duration kLongestDrain = absl::Hours(24);
// In-flight requests of a worker that is stopped without a drain.
constexpr absl::Duration kStopDrain = absl::Seconds(2);
// Of an orphan, whom nobody tells a limit.
constexpr absl::Duration kOrphanDrain = absl::Seconds(30);
// Drain at stop (2 s and 4 s), the services' stop (5 s), and some air.
constexpr unsigned kLastResortSeconds = 15;

std::string PeerOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  // A peer that is gone already has no address; the first read will say so.
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) size = 0;
  return FormatPeer(address, size);
}

HttpServer::Options HttpOptions(Log& log, Acceptor& acceptor) {
  HttpServer::Options options;
  options.access_log = [&log](const AccessRecord& record) {
    log.Info("request", {{"service", record.service},
                         {"peer", record.peer},
                         {"method", record.method},
                         {"target", record.target},
                         {"status", static_cast<int64_t>(record.status)},
                         {"bytes", static_cast<int64_t>(record.bytes_sent)},
                         {"seconds", absl::ToDoubleSeconds(record.latency)}});
  };
  options.room = [&acceptor](uint64_t service_id) { acceptor.NoteRoom(service_id); };
  return options;
}

}  // namespace

Worker::Worker(SegmentMap segment, UniqueFd link, UniqueFd signals, std::string binary_id, Log& log,
               WorkerOptions options)
    : options_(options),
      log_(log),
      segment_(segment),
      slots_(segment_.segment()),
      pool_(slots_, SystemClock(), HandlerPool::Options()),
      inbox_(io_),
      deadlines_(io_, SystemClock()),
      table_(segment_.segment(), pool_, inbox_, SystemClock()),
      http_(io_, table_, deadlines_, inbox_, HttpOptions(log, acceptor_)),
      acceptor_(
          [this](std::vector<AcceptedConnection> connections) {
            // A std::function must be copyable, connections are not.
            auto shared = std::make_shared<std::vector<AcceptedConnection>>(std::move(connections));
            boost::asio::post(io_, [this, shared] { Serve(std::move(*shared)); });
          },
          segment_.segment().header, slots_, SystemClock(), log, Acceptor::Options()),
      calls_(io_, table_, SystemClock()),
      parts_{io_, table_, http_, acceptor_, calls_, pool_, SystemClock(), log},
      native_(
          {pool_, SystemClock(), log,
           [this](std::function<void()> function) { boost::asio::post(io_, std::move(function)); },
           calls_, segment_.segment().header.generation}),
      dotnet_(
          {table_,
           SystemClock(),
           log,
           [this](std::function<void()> function) { boost::asio::post(io_, std::move(function)); },
           {slots_, log, [this](uint64_t service_id) { acceptor_.NoteRoom(service_id); }}},
          options.dotnet),
      roster_(parts_, listeners_,
              [this](const v1::AssignRequest& request, ServiceEntry& entry) {
                return MakeHosted(request, entry);
              }),
      control_(io_, roster_),
      link_(io_, std::move(link), std::move(binary_id), *this),
      signals_(std::move(signals)),
      signal_watcher_(io_, signals_.get()),
      progress_timer_(io_),
      orphan_timer_(io_),
      settle_timer_(io_) {
  table_.set_on_state_change([this](ServiceEntry& entry) { OnStateChange(entry); });
  control_.health().Set("", HealthCheckResponse::SERVING);
}

absl::Status Worker::Run() {
  COHOST_RETURN_IF_ERROR(acceptor_.Start());
  (void)slots_.Exchange({ThreadState::kInHost, kNoRow, SteadyTime()});
  WaitForSignals();
  ShowProgress();
  link_.Start();
  io_.run();
  return absl::InternalError("the I/O loop has ended");
}

void Worker::ShowProgress() {
  segment_.segment().header.loop_progress_ns.store(
      static_cast<uint64_t>(SystemClock().Steady().nanoseconds), std::memory_order_relaxed);
  progress_timer_.Start(kProgressInterval, [this] { ShowProgress(); });
}

absl::StatusOr<std::unique_ptr<HostedService>> Worker::MakeHosted(const v1::AssignRequest& request,
                                                                  ServiceEntry& entry) {
  if (request.runtime() == cohost::v1::RUNTIME_NATIVE) return MakeNative(request, entry);
  if (request.runtime() == cohost::v1::RUNTIME_DOTNET) return MakeDotnet(request, entry);
  return absl::UnimplementedError(
      absl::StrCat("this worker has no runtime ", cohost::v1::Runtime_Name(request.runtime())));
}

std::unique_ptr<HostedService> Worker::MakeDotnet(const v1::AssignRequest& request,
                                                  ServiceEntry& entry) {
  dotnet::DotnetServiceDescription description;
  description.application = request.module_path();
  description.solo = request.isolation() == cohost::v1::ISOLATION_SOLO;
  description.data_folder = request.data_folder();
  description.data_protection_name = request.data_protection_name();
  for (const cohost::v1::Setting& setting : request.settings()) {
    description.settings.emplace_back(setting.key(), setting.value());
  }
  for (const cohost::v1::Setting& variable : request.environment()) {
    description.environment.emplace_back(variable.key(), variable.value());
  }
  description.arguments = {request.arguments().begin(), request.arguments().end()};
  description.shared_libraries = {request.shared_libraries().begin(),
                                  request.shared_libraries().end()};
  for (const v1::Endpoint& endpoint : request.endpoints()) {
    description.endpoints.push_back(endpoint.endpoint());
  }
  return dotnet_.Create(std::move(description), entry);
}

std::unique_ptr<HostedService> Worker::MakeNative(const v1::AssignRequest& request,
                                                  ServiceEntry& entry) {
  native::NativeServiceDescription description;
  description.name = request.name();
  description.row = entry.row_index();
  description.module_path = request.module_path();
  for (const cohost::v1::Setting& setting : request.settings()) {
    description.settings.emplace_back(setting.key(), setting.value());
  }
  description.data_folder = request.data_folder();
  description.data_images = {request.data_images().begin(), request.data_images().end()};
  description.memory_limit = Bytes{request.memory_bytes()};
  return native_.Create(std::move(description));
}

void Worker::OnStateChange(ServiceEntry& entry) {
  const RowState state = entry.state();
  link_.SendServiceState(
      {entry.id(), entry.revision(), entry.row_index(), static_cast<uint32_t>(state)});
  // Calls from service to service are exchanges, which an own server has not.
  const bool takes_calls =
      entry.hosted() != nullptr && entry.hosted()->connection_server() == nullptr;
  calls_.SetServes(entry.name(), entry.id(), takes_calls && state == RowState::kReady);
  // The last service of a start is not known here, so each one puts it off.
  if (state == RowState::kReady) settle_timer_.Start(kSettleTime, [this] { Settle(); });
  if (state == RowState::kStopped) return control_.health().Forget(entry.name());
  control_.health().Set(entry.name(), state == RowState::kReady ? HealthCheckResponse::SERVING
                                                                : HealthCheckResponse::NOT_SERVING);
}

void Worker::Settle() {
  ReleaseStartupPages();
  native_.ReleaseImagePages();
}

// Connections.

void Worker::Serve(std::vector<AcceptedConnection> connections) {
  for (AcceptedConnection& connection : connections) {
    // Listeners leave the accept thread before their service leaves the table.
    ServiceEntry* const entry = table_.Find(connection.service_id);
    if (entry == nullptr) continue;
    ServerOf(parts_, *entry)
        .Serve(std::move(connection.fd), *entry, Arrival::kAccepted, std::move(connection.peer),
               connection.listener);
  }
}

void Worker::Adopt(IdleConnection connection) {
  ServiceEntry* const entry = table_.Find(connection.service_id);
  const bool serves = entry != nullptr &&
                      (entry->state() == RowState::kReady || entry->state() == RowState::kDraining);
  if (!serves) {
    ++not_adopted_;
    return;
  }
  ++adopted_;
  std::string peer = PeerOf(connection.socket.get());
  ServerOf(parts_, *entry)
      .Serve(std::move(connection.socket), *entry, Arrival::kAdopted, std::move(peer),
             /*listener=*/0);
}

// What the link says.

void Worker::DescribeState(LinkMessage& state) {
  state.draining = phase_ != Phase::kServing;
  state.listener_tokens = listeners_.tokens();
  table_.ForEach([&state](ServiceEntry& entry) {
    state.services.push_back(
        {entry.id(), entry.revision(), entry.row_index(), static_cast<uint32_t>(entry.state())});
  });
}

absl::Status Worker::AddListener(uint64_t token, UniqueFd listener) {
  if (phase_ != Phase::kServing) return absl::FailedPreconditionError("the worker is draining");
  listeners_.Add(token, std::move(listener));
  return absl::OkStatus();
}

absl::Status Worker::ReleaseListener(uint64_t token) {
  listeners_.Release(token);
  acceptor_.Remove(token, /*done=*/nullptr);
  return absl::OkStatus();
}

absl::Status Worker::AddChannel(UniqueFd channel) {
  return control_.AddChannel(std::move(channel));
}

absl::Status Worker::SetSuccessor(UniqueFd socket) {
  // Repeated after the drain has begun: the first one is in use.
  if (phase_ != Phase::kServing) return absl::OkStatus();
  successor_ = std::make_unique<HandoverSender>(io_, std::move(socket));
  return absl::OkStatus();
}

absl::Status Worker::AddPredecessor(UniqueFd socket) {
  const auto place =
      predecessors_.emplace(predecessors_.end(), io_, std::move(socket),
                            [this](IdleConnection connection) { Adopt(std::move(connection)); });
  place->Start([this, place](const absl::Status& why) {
    log_.Info("the predecessor's connections were taken over",
              {{"adopted", static_cast<int64_t>(adopted_)},
               {"not_adopted", static_cast<int64_t>(not_adopted_)},
               {"lost", static_cast<int64_t>(place->lost())},
               {"end", why.ok() ? "complete" : AsStd(why.message())}});
    predecessors_.erase(place);
  });
  return absl::OkStatus();
}

absl::Status Worker::Rearm() {
  acceptor_.Rearm();
  return absl::OkStatus();
}

absl::Status Worker::SetLogFile(UniqueFd file) {
  for (const int target : {STDOUT_FILENO, STDERR_FILENO}) {
    if (::dup2(file.get(), target) < 0) return ErrnoStatus(errno, "dup2", "log file");
  }
  return absl::OkStatus();
}

absl::Status Worker::Drain(absl::Duration timeout) {
  // Asked again, perhaps by a supervisor that did not see the first answer.
  if (phase_ == Phase::kDrained) link_.SendDrained();
  if (phase_ != Phase::kServing) return absl::OkStatus();
  phase_ = Phase::kDraining;
  orphan_timer_.Cancel();
  control_.health().Set("", HealthCheckResponse::NOT_SERVING);
  log_.Info("draining", {{"seconds", absl::ToDoubleSeconds(timeout)}});
  drain_ = std::make_unique<WorkerDrain>(parts_, roster_, successor_.get());
  drain_->Begin(std::clamp(timeout, absl::ZeroDuration(), kLongestDrain), [this] { OnDrained(); });
  return absl::OkStatus();
}

void Worker::OnDrained() {
  if (phase_ == Phase::kDraining) phase_ = Phase::kDrained;
  log_.Info("drained", {{"cancelled", static_cast<int64_t>(drain_->cancelled())},
                        {"handed_over",
                         static_cast<int64_t>(successor_ == nullptr ? 0 : successor_->sent())}});
  listeners_.Clear();
  // Its end tells the successor that no more connections come.
  successor_.reset();
  link_.SendDrained();
  if (stop_when_drained_) EndServices();
}

absl::Status Worker::Stop() {
  if (phase_ == Phase::kStopping) return absl::OkStatus();
  ArmLastResort(kLastResortSeconds);
  if (phase_ == Phase::kServing) {
    stop_when_drained_ = true;
    const absl::Status drained = Drain(kStopDrain);
    phase_ = Phase::kStopping;
    return drained;
  }
  // Asked while the drain is on its way: what is in flight is given up.
  phase_ = Phase::kStopping;
  EndServices();
  return absl::OkStatus();
}

void Worker::EndServices() {
  if (std::exchange(services_end_, true)) return;
  phase_ = Phase::kStopping;
  ArmLastResort(kLastResortSeconds);
  drain_->StopServices([this] {
    log_.Info("stopped");
    EndProcess();
  });
}

void Worker::LinkLost(const absl::Status& why) {
  log_.Warning("the link to the supervisor is lost",
               {{"reason", AsStd(why.message())},
                {"serving_on_seconds", absl::ToDoubleSeconds(options_.orphan_time)}});
  stop_when_drained_ = true;
  if (phase_ == Phase::kDrained) return EndServices();
  if (phase_ != Phase::kServing) return;
  orphan_timer_.Start(options_.orphan_time, [this] {
    // Cannot fail while serving.
    (void)Drain(kOrphanDrain);
  });
}

// Signals.

void Worker::WaitForSignals() {
  signal_watcher_.WhenReadable([this] { ReadSignals(); });
}

void Worker::ReadSignals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    const bool stops = info.ssi_signo == SIGTERM;
    // The others come from a terminal, which tells the whole foreground group: the supervisor is in
    // it and decides.
    log_.Info(stops ? "stopping at a signal" : "ignoring a signal",
              {{"signal", static_cast<int64_t>(info.ssi_signo)},
               {"from_pid", static_cast<int64_t>(info.ssi_pid)}});
    if (stops) (void)Stop();
  }
  WaitForSignals();
}

}  // namespace cohost::worker
