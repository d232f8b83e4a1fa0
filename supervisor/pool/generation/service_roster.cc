// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/service_roster.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace cohost::supervisor {
namespace {

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

std::set<uint64_t> TokensOf(const ServiceTarget& service) {
  std::set<uint64_t> tokens;
  for (const ListenerTarget& listener : service.listeners) {
    const absl::StatusOr<uint64_t> token = ListenerToken(listener.descriptor);
    if (token.ok()) tokens.insert(*token);
  }
  return tokens;
}

}  // namespace

bool ServiceRoster::TakeState(const LinkMessage& state) {
  for (const uint64_t token : state.listener_tokens) {
    sent_.insert(token);
    acknowledged_.insert(token);
  }
  for (const LinkServiceState& told : state.services) {
    if (!host_.TakeRow(told.service_id, told.row)) return false;
    HostedService& service = services_[told.service_id];
    service.revision = told.revision;
    service.status = ToStatus(told.state);
  }
  return true;
}

void ServiceRoster::TakeServiceState(const LinkServiceState& state) {
  const auto service = services_.find(state.service_id);
  // A service that was removed meanwhile, or that is being loaded again.
  if (service == services_.end() || service->second.revision != state.revision) return;
  if (!host_.TakeRow(state.service_id, state.row)) return;
  // Assign's and remove's own answers say more.
  if (assigning_ == state.service_id || removing_.contains(state.service_id)) return;
  SetStatus(state.service_id, ToStatus(state.state), "");
  observer_.OnProgress();
}

void ServiceRoster::TakeGauges(const WorkerGauges& gauges) {
  for (const ServiceGauges& service : gauges.services) {
    const auto known = services_.find(service.service_id);
    if (known != services_.end()) known->second.gauges = service;
  }
}

void ServiceRoster::BeginAgain() {
  removing_.clear();
  // One that is not wanted like this any more stays known, since the worker may have it: it is
  // removed, or replaced with the worker.
  const uint64_t open = std::exchange(assigning_, 0);
  if (std::any_of(wanted_.begin(), wanted_.end(), [this, open](const auto& target) {
        return target->id == open && target->revision == services_[open].revision;
      })) {
    services_.erase(open);
  }
  Step();
}

void ServiceRoster::SetServices(std::vector<std::shared_ptr<const ServiceTarget>> wanted,
                                const GroupPolicy& policy) {
  policy_ = policy;
  if (told_ && wanted == wanted_) return;
  told_ = true;
  wanted_ = std::move(wanted);
  for (const auto& service : wanted_) {
    const auto known = services_.find(service->id);
    if (known == services_.end()) continue;
    known->second.name = service->name;
    // One that only stays until it is ready elsewhere is named without its listeners.
    if (known->second.revision == service->revision && !service->listeners.empty()) {
      known->second.tokens = TokensOf(*service);
    }
  }
  Step();
}

bool ServiceRoster::settled() const {
  // From the end, since services are assigned in order: what is missing is found at once.
  return told_ && std::all_of(wanted_.rbegin(), wanted_.rend(), [this](const auto& service) {
           const auto hosted = services_.find(service->id);
           return hosted != services_.end() && hosted->second.status != ServiceStatus::kLoading &&
                  !removing_.contains(service->id);
         });
}

void ServiceRoster::Step() {
  // An adopted worker serves before anybody has said what it should serve: that is not "nothing".
  if (!usable() || !told_) return;
  RemoveUnwanted();
  for (const auto& service : wanted_) {
    if (!IsMissing(*service)) continue;
    const absl::Status sent = SendListeners(*service);
    if (!sent.ok()) FailService(*service, std::string(sent.message()));
  }
  AssignNext();
}

void ServiceRoster::RemoveUnwanted() {
  std::unordered_set<uint64_t> wanted;
  for (const auto& target : wanted_) wanted.insert(target->id);
  std::vector<uint64_t> unwanted;
  for (const auto& [id, service] : services_) {
    // A removal that an earlier channel or supervisor began is asked for again, wanted or not.
    if ((!wanted.contains(id) || service.status == ServiceStatus::kDraining) && id != assigning_ &&
        !removing_.contains(id) && !stuck_.contains(id)) {
      unwanted.push_back(id);
    }
  }
  for (const uint64_t id : unwanted) Remove(id);
}

void ServiceRoster::Remove(uint64_t service_id) {
  removing_.insert(service_id);
  SetStatus(service_id, ServiceStatus::kDraining, "");
  host_.channel()->Remove(
      service_id, policy_.drain_timeout,
      [this, service_id](const absl::Status& status) { FinishRemove(service_id, status); });
}

void ServiceRoster::FinishRemove(uint64_t service_id, const absl::Status& status) {
  if (absl::IsUnavailable(status) || absl::IsCancelled(status)) return host_.ChannelFailed(status);
  removing_.erase(service_id);
  if (!status.ok() && !absl::IsNotFound(status)) {
    stuck_.insert(service_id);
    observer_.OnRemark(
        absl::StrCat("service ", service_id, " could not be removed: ", status.message()));
    return;
  }
  SetStatus(service_id, ServiceStatus::kStopped, "");
  services_.erase(service_id);
  if (suspect_ == service_id) suspect_ = 0;
  ReleaseListeners();
  observer_.OnIntakeStopped();
  observer_.OnProgress();
  Step();
}

// Listeners that no service has, wanted or still there.
void ServiceRoster::ReleaseListeners() {
  std::set<uint64_t> needed;
  for (const auto& service : wanted_) needed.merge(TokensOf(*service));
  for (const auto& [id, hosted] : services_) {
    // An adopted one that nobody wants like this: its listeners are not known.
    if (!hosted.tokens.has_value()) return;
    needed.insert(hosted.tokens->begin(), hosted.tokens->end());
  }
  std::vector<uint64_t> unneeded;
  std::set_difference(acknowledged_.begin(), acknowledged_.end(), needed.begin(), needed.end(),
                      std::back_inserter(unneeded));
  for (const uint64_t token : unneeded) {
    acknowledged_.erase(token);
    sent_.erase(token);
    host_.link().ReleaseListener(token, [](const absl::Status&) {});
  }
}

bool ServiceRoster::IsMissing(const ServiceTarget& service) const {
  const auto hosted = services_.find(service.id);
  if (hosted == services_.end()) return true;
  // Failed before this supervisor came: asked again, the worker says why.
  return hosted->second.status == ServiceStatus::kFailed && hosted->second.reason.empty() &&
         hosted->second.revision == service.revision;
}

absl::Status ServiceRoster::SendListeners(const ServiceTarget& service) {
  for (const ListenerTarget& listener : service.listeners) {
    COHOST_ASSIGN_OR_RETURN(const uint64_t token, ListenerToken(listener.descriptor));
    if (!sent_.insert(token).second) continue;
    host_.link().SendListener(token, listener.descriptor, [this, token](const absl::Status& taken) {
      if (absl::IsAborted(taken)) return;
      if (taken.ok()) {
        acknowledged_.insert(token);
      } else {
        refused_[token] = std::string(taken.message());
      }
      // Not Step: it would send listeners from within the sending of listeners.
      if (usable()) AssignNext();
    });
  }
  return absl::OkStatus();
}

absl::Status ServiceRoster::CheckListeners(const ServiceTarget& service) const {
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

void ServiceRoster::AssignNext() {
  if (assigning_ != 0) return;
  for (const auto& service : wanted_) {
    if (!IsMissing(*service) || removing_.contains(service->id)) continue;
    const absl::Status listeners = CheckListeners(*service);
    if (absl::IsUnavailable(listeners)) return;
    if (listeners.ok()) return Assign(service);
    FailService(*service, std::string(listeners.message()));
  }
}

void ServiceRoster::Assign(const std::shared_ptr<const ServiceTarget>& service) {
  assigning_ = suspect_ = service->id;
  HostedService hosted;
  hosted.revision = service->revision;
  hosted.name = service->name;
  hosted.module_path = service->module_path;
  hosted.tokens = TokensOf(*service);
  services_[service->id] = std::move(hosted);
  host_.channel()->Assign(*service, policy_.start_timeout, policy_.start_timeout + kLoadMargin,
                          [this, service](const absl::StatusOr<AssignOutcome>& outcome) {
                            FinishAssign(service, outcome);
                          });
}

void ServiceRoster::FinishAssign(const std::shared_ptr<const ServiceTarget>& service,
                                 const absl::StatusOr<AssignOutcome>& outcome) {
  if (absl::IsUnavailable(outcome.status()) || absl::IsCancelled(outcome.status())) {
    return host_.ChannelFailed(outcome.status());
  }
  if (absl::IsDeadlineExceeded(outcome.status())) {
    // It stays the suspect of the exit that follows.
    hung_ = true;
    return observer_.OnFault(absl::DeadlineExceededError(
        absl::StrCat("service '", service->name, "' did not load within ",
                     absl::FormatDuration(policy_.start_timeout + kLoadMargin))));
  }
  assigning_ = suspect_ = 0;
  host_.ChannelWorks();
  if (!outcome.ok()) {
    FailService(*service, std::string(outcome.status().message()));
  } else if (outcome->service_id != service->id || outcome->revision != service->revision) {
    return observer_.OnFault(absl::InvalidArgumentError("an answer about another service"));
  } else {
    if (!host_.TakeRow(service->id, outcome->row)) return;
    services_[service->id].load_time = outcome->load_time;
    SetStatus(service->id, outcome->ready ? ServiceStatus::kReady : ServiceStatus::kFailed,
              outcome->ready || !outcome->reason.empty() ? outcome->reason : "no reason given");
  }
  observer_.OnProgress();
  if (!usable()) return;
  // Not a whole step: listeners have been sent, and with many services looking at all of them after
  // each costs more than loading them.
  const bool wanted = std::any_of(wanted_.begin(), wanted_.end(), [&service](const auto& target) {
    return target->id == service->id;
  });
  if (!wanted) RemoveUnwanted();
  AssignNext();
}

void ServiceRoster::FailService(const ServiceTarget& service, std::string reason) {
  HostedService& hosted = services_[service.id];
  hosted.revision = service.revision;
  hosted.name = service.name;
  hosted.tokens = TokensOf(service);
  SetStatus(service.id, ServiceStatus::kFailed, reason.empty() ? "unknown" : std::move(reason));
}

void ServiceRoster::SetStatus(uint64_t service_id, ServiceStatus status, std::string reason) {
  HostedService& service = services_[service_id];
  const ServiceStatus before = std::exchange(service.status, status);
  const bool changed = before != status || service.reason != reason;
  service.reason = std::move(reason);
  if (changed) observer_.OnServiceChanged(service_id, service, before);
}

void ServiceRoster::Retry(uint64_t service_id) {
  const auto hosted = services_.find(service_id);
  if (!usable() || hosted == services_.end() || removing_.contains(service_id) ||
      hosted->second.status != ServiceStatus::kFailed) {
    return;
  }
  stuck_.erase(service_id);
  // What the worker could not take then, it may take now.
  for (const auto& [token, why] : refused_) sent_.erase(token);
  refused_.clear();
  Remove(service_id);
}

void ServiceRoster::TakeProbe(const std::vector<ProbeOutcome>& outcomes) {
  for (const ProbeOutcome& outcome : outcomes) {
    const auto hosted = services_.find(outcome.service_id);
    if (hosted == services_.end() || hosted->second.status != ServiceStatus::kReady) continue;
    SetStatus(outcome.service_id, ServiceStatus::kReady,
              outcome.healthy ? "" : absl::StrCat("unhealthy: ", outcome.reason));
  }
}

}  // namespace cohost::supervisor
