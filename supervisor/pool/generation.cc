// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/seqpacket.h"
#include "base/status.h"

namespace cohost::supervisor {
namespace {

constexpr absl::Duration kFirstReconnect = absl::Milliseconds(20);

ServiceStatus ToStatus(uint32_t state) {
  // The link's decoder lets no other value through.
  switch (static_cast<RowState>(state)) {
    case RowState::kLoading:
      return ServiceStatus::kLoading;
    case RowState::kReady:
      return ServiceStatus::kReady;
    case RowState::kFailed:
      return ServiceStatus::kFailed;
    case RowState::kDraining:
      return ServiceStatus::kDraining;
    case RowState::kFree:
    case RowState::kStopped:
      break;
  }
  return ServiceStatus::kStopped;
}

}  // namespace

Generation::Generation(const PoolParts& parts, Observer& observer, GenerationId id)
    : parts_(parts), observer_(observer), id_(std::move(id)), reconnect_timer_(parts.timers) {}

Generation::~Generation() = default;

void Generation::Spawn(const GroupTarget& group, GenerationRecord record, int log_file) {
  record_ = std::move(record);
  const absl::Status prepared = Prepare(SpecFor(group), log_file);
  if (prepared.ok()) return;
  reconnect_timer_.Start(absl::ZeroDuration(),
                         [this, prepared] { observer_.OnSpawnFailed(prepared); });
}

absl::Status Generation::Prepare(ProcessSpec spec, int log_file) {
  COHOST_ASSIGN_OR_RETURN(auto segment, SegmentReader::Create(id_.number));
  COHOST_ASSIGN_OR_RETURN(SocketPair link, MakeSeqpacketPair());
  segment_fd_ = std::move(segment.first);
  segment_ = std::move(segment.second);
  worker_end_ = std::move(link.second);
  if (log_file >= 0) {
    log_file_.Reset(fcntl(log_file, F_DUPFD_CLOEXEC, 0));
    if (!log_file_.valid()) return ErrnoStatus(errno, "dup", "log file");
  }
  // Held before it is spawned: the next supervisor finds every worker that may live.
  parts_.holder.Hold(id_.HoldName(), EncodeGenerationRecord(record_),
                     {link.first.get(), segment_fd_.get()},
                     [this, alive = std::weak_ptr<bool>(alive_),
                      spec = std::move(spec)](const absl::Status& held) mutable {
                       if (alive.expired()) return;
                       if (held.ok()) return Launch(std::move(spec));
                       observer_.OnSpawnFailed(Annotate(held, "the keeper cannot hold the worker"));
                     });
  StartLink(std::move(link.first));
  return absl::OkStatus();
}

ProcessSpec Generation::SpecFor(const GroupTarget& group) const {
  ProcessSpec spec;
  spec.name = id_.ProcessName();
  spec.program = parts_.settings.worker_program;
  spec.arguments = {parts_.settings.worker_program};
  spec.environment = parts_.settings.environment;
  spec.environment.push_back(absl::StrCat("COHOST_GROUP=", id_.group));
  spec.environment.push_back(absl::StrCat("COHOST_SLOT=", id_.slot));
  spec.environment.push_back(absl::StrCat("COHOST_GENERATION=", id_.number));
  spec.identity = group.identity;
  spec.limits.open_files = group.policy.limits.open_files;
  spec.limits.memory = group.policy.limits.memory;
  spec.limits.cpu = group.policy.limits.cpu;
  spec.limits.tasks = group.policy.limits.tasks;
  spec.use_cgroup = parts_.settings.use_cgroups;
  return spec;
}

void Generation::Launch(ProcessSpec spec) {
  spec.descriptors = {{kLinkDescriptor, worker_end_.get()},
                      {kSegmentDescriptor, segment_fd_.get()}};
  if (log_file_.valid()) {
    spec.descriptors.emplace_back(1, log_file_.get());
    spec.descriptors.emplace_back(2, log_file_.get());
  }
  parts_.launcher.Launch(std::move(spec), [this, alive = std::weak_ptr<bool>(alive_)](
                                              absl::StatusOr<LaunchedProcess> launched) {
    if (alive.expired()) return;
    // Only the worker has them now, so that its end is the end of the link.
    worker_end_.Reset();
    segment_fd_.Reset();
    log_file_.Reset();
    if (!launched.ok()) return observer_.OnSpawnFailed(launched.status());
    pid_ = launched->pid;
    for (const std::string& remark : launched->remarks) observer_.OnRemark(remark);
  });
}

absl::Status Generation::Adopt(HeldEntry entry, pid_t pid) {
  if (entry.descriptors.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(entry.name, " has ", entry.descriptors.size(), " descriptors"));
  }
  COHOST_ASSIGN_OR_RETURN(record_, DecodeGenerationRecord(entry.blob));
  COHOST_ASSIGN_OR_RETURN(segment_, SegmentReader::Open(std::move(entry.descriptors[1])));
  pid_ = pid;
  StartLink(std::move(entry.descriptors[0]));
  return absl::OkStatus();
}

void Generation::StartLink(UniqueFd socket) {
  link_ = std::make_unique<WorkerLink>(parts_.loop, parts_.timers, parts_.clock, std::move(socket),
                                       parts_.settings.binary_id, *this);
  link_->SendHello();
}

void Generation::OnLinkState(const LinkMessage& state) {
  binary_id_ = state.binary_id;
  for (const uint64_t token : state.listener_tokens) {
    sent_.insert(token);
    acknowledged_.insert(token);
  }
  for (const LinkServiceState& told : state.services) {
    if (!TakeRow(told.service_id, told.row)) return;
    HostedService& service = services_[told.service_id];
    service.revision = told.revision;
    service.status = ToStatus(told.state);
  }
  reported_ = true;
  draining_ = draining_ || state.draining;
  Connect();
  observer_.OnReported(state.draining);
  Step();
}

void Generation::OnServiceState(const LinkServiceState& state) {
  const auto service = services_.find(state.service_id);
  // A service that was removed meanwhile, or that is being loaded again.
  if (service == services_.end() || service->second.revision != state.revision) return;
  if (!TakeRow(state.service_id, state.row)) return;
  // Assign's own answer says more.
  if (assigning_ == state.service_id || removing_.contains(state.service_id)) return;
  SetStatus(state.service_id, ToStatus(state.state), "");
  observer_.OnProgress();
}

void Generation::OnDrained() { observer_.OnGenerationDrained(); }

void Generation::OnLinkLost(const absl::Status& why) { observer_.OnFault(why); }

bool Generation::TakeRow(uint64_t service_id, uint32_t row) {
  if (row == kNoRow) return true;
  const absl::Status taken = segment_->AddRow(service_id, row);
  if (!taken.ok()) observer_.OnFault(taken);
  return taken.ok();
}

bool Generation::usable() const {
  return reported_ && client_ != nullptr && !link_->lost() && !reconnect_timer_.running();
}

void Generation::Connect() {
  absl::StatusOr<SocketPair> channel = MakeStreamPair();
  if (!channel.ok()) return Reconnect(channel.status());
  client_ = parts_.clients.Connect(std::move(channel->first));
  link_->SendChannel(channel->second.get(), [this](const absl::Status& taken) {
    if (!taken.ok() && !absl::IsAborted(taken)) Reconnect(Annotate(taken, "channel"));
  });
  WatchStatistics();
}

// A channel made from a descriptor cannot reconnect: its first UNAVAILABLE is its end, though not
// yet the worker's (RPC-03). After an exit, the exit record comes before the timer or soon after.
void Generation::Reconnect(const absl::Status& why) {
  if (reconnect_timer_.running() || link_->lost()) return;
  if (++failed_channels_ > kMaxChannels) {
    return observer_.OnFault(Annotate(why, "no channel to the worker works"));
  }
  reconnect_timer_.Start(kFirstReconnect * (1 << failed_channels_), [this] { ConnectAgain(); });
}

void Generation::ConnectAgain() {
  // Calls of the old channel are never answered now; both are made again.
  client_.reset();
  removing_.clear();
  if (assigning_ != 0) services_.erase(std::exchange(assigning_, 0));
  if (link_->lost()) return;
  Connect();
  Step();
}

void Generation::WatchStatistics() {
  client_->WatchStatistics(
      kStatisticsInterval, [this](const WorkerGauges& gauges) { TakeGauges(gauges); },
      [this](const absl::Status& ended) {
        if (absl::IsDeadlineExceeded(ended) && usable()) return WatchStatistics();
        Reconnect(ended);
      });
}

void Generation::TakeGauges(const WorkerGauges& gauges) {
  failed_channels_ = 0;
  for (const ServiceGauges& service : gauges.services) {
    const auto known = services_.find(service.service_id);
    if (known != services_.end()) known->second.gauges = service;
  }
}

void Generation::SetServices(std::vector<std::shared_ptr<const ServiceTarget>> wanted,
                             const GroupPolicy& policy) {
  policy_ = policy;
  if (told_ && wanted == wanted_) return;
  told_ = true;
  wanted_ = std::move(wanted);
  for (const auto& service : wanted_) {
    const auto known = services_.find(service->id);
    if (known != services_.end()) known->second.name = service->name;
  }
  Step();
}

void Generation::Step() {
  if (!usable() || draining_) return;
  RemoveUnwanted();
  for (const auto& service : wanted_) {
    if (!IsMissing(*service)) continue;
    const absl::Status sent = SendListeners(*service);
    if (!sent.ok()) FailService(*service, std::string(sent.message()));
  }
  AssignNext();
}

void Generation::RemoveUnwanted() {
  std::vector<uint64_t> unwanted;
  for (const auto& [id, service] : services_) {
    const bool wanted = std::any_of(wanted_.begin(), wanted_.end(),
                                    [id = id](const auto& target) { return target->id == id; });
    // A removal that an earlier channel or supervisor began is asked for again, wanted or not.
    if ((!wanted || service.status == ServiceStatus::kDraining) && id != assigning_ &&
        !removing_.contains(id) && !stuck_.contains(id)) {
      unwanted.push_back(id);
    }
  }
  for (const uint64_t id : unwanted) Remove(id);
}

void Generation::Remove(uint64_t service_id) {
  removing_.insert(service_id);
  SetStatus(service_id, ServiceStatus::kDraining, "");
  client_->Remove(
      service_id, policy_.drain_timeout,
      [this, service_id](const absl::Status& status) { FinishRemove(service_id, status); });
}

void Generation::FinishRemove(uint64_t service_id, const absl::Status& status) {
  if (absl::IsUnavailable(status)) return Reconnect(status);
  removing_.erase(service_id);
  if (!status.ok() && !absl::IsNotFound(status)) {
    stuck_.insert(service_id);
    observer_.OnRemark(
        absl::StrCat("service ", service_id, " could not be removed: ", status.message()));
    return;
  }
  SetStatus(service_id, ServiceStatus::kStopped, "");
  services_.erase(service_id);
  ReleaseListeners();
  observer_.OnIntakeStopped();
  observer_.OnProgress();
  Step();
}

// Listeners that no wanted service has.
void Generation::ReleaseListeners() {
  std::set<uint64_t> needed;
  for (const auto& service : wanted_) {
    for (const ListenerTarget& listener : service->listeners) {
      const absl::StatusOr<uint64_t> token = ListenerToken(listener.descriptor);
      if (token.ok()) needed.insert(*token);
    }
  }
  // Services that are on their way out, or that a replacement has in another revision, may use
  // listeners that are not known here any more.
  const bool others = std::any_of(services_.begin(), services_.end(), [this](const auto& hosted) {
    return std::none_of(wanted_.begin(), wanted_.end(), [&hosted](const auto& target) {
      return target->id == hosted.first && target->revision == hosted.second.revision;
    });
  });
  if (others) return;
  std::vector<uint64_t> unneeded;
  std::set_difference(acknowledged_.begin(), acknowledged_.end(), needed.begin(), needed.end(),
                      std::back_inserter(unneeded));
  for (const uint64_t token : unneeded) {
    acknowledged_.erase(token);
    sent_.erase(token);
    link_->ReleaseListener(token, [](const absl::Status&) {});
  }
}

bool Generation::IsMissing(const ServiceTarget& service) const {
  const auto hosted = services_.find(service.id);
  if (hosted == services_.end()) return true;
  // Failed before this supervisor came: asked again, the worker says why.
  return hosted->second.status == ServiceStatus::kFailed && hosted->second.reason.empty() &&
         hosted->second.revision == service.revision;
}

absl::Status Generation::SendListeners(const ServiceTarget& service) {
  for (const ListenerTarget& listener : service.listeners) {
    COHOST_ASSIGN_OR_RETURN(const uint64_t token, ListenerToken(listener.descriptor));
    if (!sent_.insert(token).second) continue;
    link_->SendListener(token, listener.descriptor, [this, token](const absl::Status& taken) {
      if (absl::IsAborted(taken)) return;
      if (taken.ok()) {
        acknowledged_.insert(token);
      } else {
        refused_[token] = std::string(taken.message());
      }
      // Not Step: it would send listeners from within the sending of listeners.
      if (usable() && !draining_) AssignNext();
    });
  }
  return absl::OkStatus();
}

absl::Status Generation::CheckListeners(const ServiceTarget& service) const {
  for (const ListenerTarget& listener : service.listeners) {
    COHOST_ASSIGN_OR_RETURN(const uint64_t token, ListenerToken(listener.descriptor));
    const auto refused = refused_.find(token);
    if (refused != refused_.end()) {
      return absl::InternalError(absl::StrCat(listener.address, ": ", refused->second));
    }
    if (!acknowledged_.contains(token)) return absl::UnavailableError(listener.address);
  }
  return absl::OkStatus();
}

void Generation::AssignNext() {
  if (assigning_ != 0) return;
  for (const auto& service : wanted_) {
    if (!IsMissing(*service) || removing_.contains(service->id)) continue;
    const absl::Status listeners = CheckListeners(*service);
    if (absl::IsUnavailable(listeners)) return;
    if (listeners.ok()) return Assign(service);
    FailService(*service, std::string(listeners.message()));
  }
}

void Generation::Assign(const std::shared_ptr<const ServiceTarget>& service) {
  assigning_ = suspect_ = service->id;
  HostedService hosted;
  hosted.revision = service->revision;
  hosted.name = service->name;
  hosted.module_path = service->module_path;
  services_[service->id] = std::move(hosted);
  client_->Assign(*service, policy_.start_timeout, policy_.start_timeout + kLoadMargin,
                  [this, service](const absl::StatusOr<AssignOutcome>& outcome) {
                    FinishAssign(service, outcome);
                  });
}

void Generation::FinishAssign(const std::shared_ptr<const ServiceTarget>& service,
                              const absl::StatusOr<AssignOutcome>& outcome) {
  if (absl::IsUnavailable(outcome.status()) || absl::IsCancelled(outcome.status())) {
    return Reconnect(outcome.status());
  }
  if (absl::IsDeadlineExceeded(outcome.status())) {
    // It stays the suspect of the exit that follows.
    hung_ = true;
    return observer_.OnFault(absl::DeadlineExceededError(
        absl::StrCat("service '", service->name, "' did not load within ",
                     absl::FormatDuration(policy_.start_timeout + kLoadMargin))));
  }
  assigning_ = suspect_ = 0;
  failed_channels_ = 0;
  if (!outcome.ok()) {
    FailService(*service, std::string(outcome.status().message()));
  } else if (outcome->service_id != service->id || outcome->revision != service->revision) {
    return observer_.OnFault(absl::InvalidArgumentError("an answer about another service"));
  } else {
    if (!TakeRow(service->id, outcome->row)) return;
    services_[service->id].load_time = outcome->load_time;
    SetStatus(service->id, outcome->ready ? ServiceStatus::kReady : ServiceStatus::kFailed,
              outcome->ready || !outcome->reason.empty() ? outcome->reason : "no reason given");
  }
  const std::weak_ptr<bool> alive = alive_;
  observer_.OnProgress();
  if (!alive.expired() && usable() && !draining_) AssignNext();
}

void Generation::FailService(const ServiceTarget& service, std::string reason) {
  HostedService& hosted = services_[service.id];
  hosted.revision = service.revision;
  hosted.name = service.name;
  SetStatus(service.id, ServiceStatus::kFailed, reason.empty() ? "unknown" : std::move(reason));
}

void Generation::SetStatus(uint64_t service_id, ServiceStatus status, std::string reason) {
  HostedService& service = services_[service_id];
  const ServiceStatus before = std::exchange(service.status, status);
  const bool changed = before != status || service.reason != reason;
  service.reason = std::move(reason);
  if (changed) observer_.OnServiceChanged(service_id, service, before);
}

bool Generation::settled() const {
  return reported_ && told_ &&
         std::all_of(wanted_.begin(), wanted_.end(), [this](const auto& service) {
           const auto hosted = services_.find(service->id);
           return hosted != services_.end() && hosted->second.status != ServiceStatus::kLoading &&
                  !removing_.contains(service->id);
         });
}

void Generation::Retry(uint64_t service_id) {
  const auto hosted = services_.find(service_id);
  if (!usable() || hosted == services_.end() || removing_.contains(service_id) ||
      hosted->second.status != ServiceStatus::kFailed) {
    return;
  }
  stuck_.erase(service_id);
  Remove(service_id);
}

void Generation::Drain(absl::Duration timeout) {
  draining_ = true;
  if (link_ == nullptr) return;  // it could not be spawned, and says so soon
  link_->SendDrain(timeout, [this](const absl::Status& begun) {
    if (begun.ok()) observer_.OnIntakeStopped();
  });
}

void Generation::HandOverTo(Generation& successor) {
  absl::StatusOr<SocketPair> sockets = MakeSeqpacketPair();
  if (!sockets.ok()) return observer_.OnRemark(std::string(sockets.status().message()));
  // The receiver first: nothing is handed to nobody.
  successor.link_->SendPredecessor(sockets->first.get(), [](const absl::Status&) {});
  link_->SendSuccessor(sockets->second.get(), [](const absl::Status&) {});
}

bool Generation::Stop() {
  if (link_ == nullptr || link_->lost()) return false;
  link_->SendStop();
  return true;
}

void Generation::Kill() {
  parts_.launcher.Kill(id_.ProcessName(),
                       [this, alive = std::weak_ptr<bool>(alive_)](const absl::Status& killed) {
                         if (!alive.expired() && !killed.ok()) observer_.OnKillFailed(killed);
                       });
}

void Generation::Rearm() {
  if (reported_ && !link_->lost()) link_->SendRearm([](const absl::Status&) {});
}

void Generation::SetLogFile(int file) {
  if (reported_ && !link_->lost()) link_->SendLogFile(file, [](const absl::Status&) {});
}

void Generation::Probe(absl::Duration timeout) {
  if (!usable()) return;
  client_->Probe(timeout, [this](const absl::StatusOr<std::vector<ProbeOutcome>>& outcomes) {
    // One call that could not be made is not yet a missed probe.
    if (absl::IsUnavailable(outcomes.status())) return Reconnect(outcomes.status());
    if (outcomes.ok()) TakeProbe(*outcomes);
    observer_.OnProbe(outcomes.ok());
  });
}

void Generation::TakeProbe(const std::vector<ProbeOutcome>& outcomes) {
  failed_channels_ = 0;
  for (const ProbeOutcome& outcome : outcomes) {
    const auto hosted = services_.find(outcome.service_id);
    if (hosted == services_.end() || hosted->second.status != ServiceStatus::kReady) continue;
    SetStatus(outcome.service_id, ServiceStatus::kReady,
              outcome.healthy ? "" : absl::StrCat("unhealthy: ", outcome.reason));
  }
}

std::vector<uint64_t> Generation::Suspects() {
  if (suspect_ != 0) return {suspect_};
  return segment_ == nullptr ? std::vector<uint64_t>() : segment_->LoadingServices();
}

}  // namespace cohost::supervisor
