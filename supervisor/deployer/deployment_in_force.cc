// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/deployment_in_force.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "boost/asio/post.hpp"
#include "supervisor/config/deployment_writer.h"
#include "supervisor/deployer/deployment_change.h"
#include "supervisor/deployer/descriptor_need.h"
#include "supervisor/deployer/pool_targets.h"
#include "supervisor/deployer/signature_requirement.h"

namespace cohost::supervisor {

namespace {

// With what operators have stopped, since that can be started at any time.
absl::Status CheckDescriptors(const PreparedDeployment& prepared, const Placement& placement) {
  size_t workers = 0;
  for (const PlacedGroup& group : placement.groups) workers += PolicyOf(prepared, group).workers;
  return CheckDescriptorLimit(WantedListeners(prepared, placement, {}).size(), workers,
                              DescriptorLimit());
}

absl::StatusOr<Placement> PlaceAll(const PreparedDeployment& prepared, PlacementRecord previous) {
  std::map<std::string, PlacementTraits> traits;
  for (const auto& [name, service] : prepared.services) {
    if (service.service.runtime == Runtime::kDotnet)
      traits.emplace(name, TraitsOf(service.hosting));
  }
  return Place(MakePlacementInput(prepared.deployment, std::move(previous), traits));
}

}  // namespace

void DeploymentInForce::Restore(StateSnapshot snapshot) {
  placement_.record = std::move(snapshot.placement);
  ids_ = std::move(snapshot.service_ids);
  for (const auto& [name, stop] : snapshot.operator_stops) stopped_.insert(name);
  if (snapshot.revision) record_ = *std::move(snapshot.revision);
  services_ = std::move(snapshot.services);
  pins_ = std::move(snapshot.pins);
}

absl::StatusOr<ReloadOutcome> DeploymentInForce::Commit(
    std::unique_ptr<PreparedDeployment> prepared, ChangeReason reason) {
  COHOST_ASSIGN_OR_RETURN(Placement placement, PlaceAll(*prepared, placement_.record));
  ReloadOutcome outcome;
  outcome.revision = record_.revision;
  if (reason.checks_signatures) outcome.problems = CheckSignatures(*prepared, placement);
  if (!outcome.problems.empty()) return outcome;
  COHOST_RETURN_IF_ERROR(CheckDescriptors(*prepared, placement));
  COHOST_RETURN_IF_ERROR(MakeDataFolders(*prepared, placement));
  // What is tried becomes what is in force, or goes.
  std::optional<PreparedService> canary = std::exchange(canary_, std::nullopt);
  if (absl::Status status = Apply(*prepared, placement, stopped_); !status.ok()) {
    canary_ = std::move(canary);
    return status;
  }
  CompareDeployments(prepared_.get(), *prepared, outcome);
  outcome.moved = placement.moved;
  StateRevision next;
  next.revision = record_.revision + 1;
  next.deployment = FormatDeployment(prepared->deployment);
  next.applied = parts_.clock.Wall();
  next.uid = reason.uid;
  next.action = reason.action;
  next.summary = SummaryOf(outcome);
  std::vector<ServiceChange> changes = ServiceChanges(services_, *prepared, outcome.changed, next);
  std::vector<ModuleRecord> modules;
  if (next.deployment != record_.deployment || !changes.empty()) {
    record_ = std::move(next);
    modules = ModuleRecords(changes, *prepared, record_);
    for (const ServiceChange& change : changes) {
      services_[change.service] = change;
      if (change.files.module.empty()) services_.erase(change.service);
    }
  }
  outcome.revision = record_.revision;
  TellOfSolo(*prepared, placement);
  pins_ = std::move(reason.pins);
  std::erase_if(pins_, [&](const auto& pin) { return !prepared->held.contains(pin.first); });
  prepared_ = std::move(prepared);
  placement_ = std::move(placement);
  Save(std::move(changes), std::move(modules), std::move(reason.saved));
  return outcome;
}

absl::Status DeploymentInForce::Apply(const PreparedDeployment& prepared,
                                      const Placement& placement,
                                      const std::set<std::string>& stopped) {
  COHOST_ASSIGN_OR_RETURN(ListenerSet::Change change,
                          parts_.listeners.Prepare(WantedListeners(prepared, placement, stopped)));
  // From here on nothing fails. The pool duplicates what it needs before closed listeners go.
  const ListenerSet::Outcome listened = parts_.listeners.Commit(std::move(change));
  PoolTarget target = MakePoolTarget(prepared, placement, stopped, parts_.listeners, ids_);
  if (canary_) AddCanary(prepared, *canary_, parts_.listeners, ids_, target);
  parts_.pool.Apply(std::move(target));
  for (const std::string& key : listened.opened) Tell("listener_opened", key);
  for (const std::string& key : listened.closed) Tell("listener_closed", key);
  for (const std::string& remark : listened.remarks) Tell("listener_remark", remark);
  return absl::OkStatus();
}

absl::Status DeploymentInForce::BeginCanary(PreparedService canary) {
  const auto found = prepared_->services.find(canary.service.name);
  if (found == prepared_->services.end()) {
    return absl::NotFoundError(absl::StrCat("there is no service '", canary.service.name, "'"));
  }
  const Service& now = found->second.service;
  const Service& next = canary.service;
  // A change of the load is one of placement.
  if (next.listen != now.listen || next.group != now.group || next.load != now.load ||
      next.overlap != now.overlap || next.instances != now.instances || !now.overlap ||
      canary.hosting != found->second.hosting) {
    return absl::FailedPreconditionError("it cannot run beside the version in force");
  }
  canary_ = std::move(canary);
  absl::Status status = Apply(*prepared_, placement_, stopped_);
  if (!status.ok()) canary_.reset();
  return status;
}

void DeploymentInForce::EndCanary() {
  if (!canary_) return;
  canary_.reset();
  if (absl::Status status = Apply(*prepared_, placement_, stopped_); !status.ok()) {
    // Only its listeners could fail, and they are open.
    Tell("pool_remark", absl::StrCat("ending a canary: ", AsAbsl(AsStd(status.message()))));
  }
}

std::string DeploymentInForce::GroupOf(const std::string& service) const {
  for (const PlacedGroup& group : placement_.groups) {
    for (const PlacedService& placed : group.services) {
      if (placed.name == service) return group.name;
    }
  }
  return "";
}

ServicePin DeploymentInForce::PinFor(const std::string& service) const {
  const auto pin = pins_.find(service);
  const uint64_t replaced = pin != pins_.end() ? pin->second.replaced
                                               : SourceFingerprint(prepared_->services.at(service));
  return {replaced, record_.revision + 1};
}

void DeploymentInForce::Save(std::vector<ServiceChange> changes, std::vector<ModuleRecord> modules,
                             std::function<void(const absl::Status&)> saved) {
  DeploymentChange change;
  change.revision = record_;
  change.placement = placement_.record;
  change.service_ids = ids_;
  change.services = std::move(changes);
  change.pins = pins_;
  change.modules = std::move(modules);
  const auto told = [this, saved = std::move(saved)](const absl::Status& status) {
    if (!status.ok()) {
      Tell("state_remark", absl::StrCat("the deployment is in force but was not saved: ",
                                        AsAbsl(AsStd(status.message()))));
    }
    if (saved) saved(status);
  };
  parts_.state.SaveDeployment(std::move(change), [&loop = parts_.loop, told](absl::Status status) {
    boost::asio::post(loop, [told, status = std::move(status)] { told(status); });
  });
}

void DeploymentInForce::TellOfSolo(const PreparedDeployment& next, const Placement& placement) {
  for (const PlacedGroup& group : placement.groups) {
    for (const PlacedService& placed : group.services) {
      const std::string& because = next.services.at(placed.name).hosting.solo_because;
      const PreparedService* before = nullptr;
      if (prepared_ != nullptr && prepared_->services.contains(placed.name)) {
        before = &prepared_->services.at(placed.name);
      }
      if (because.empty() || (before != nullptr && before->hosting.solo_because == because)) {
        continue;
      }
      HostEvent event;
      event.kind = "service_solo";
      event.service = placed.name;
      event.group = group.name;
      event.message = absl::StrCat("it is alone in its workers: ", because);
      parts_.events.Record(std::move(event));
    }
  }
}

void DeploymentInForce::Tell(std::string_view kind, const std::string& text) {
  HostEvent event;
  event.kind = kind;
  event.message = text;
  parts_.events.Record(std::move(event));
}

void DeploymentInForce::SetStopped(const Caller& caller, const std::string& name, bool stop,
                                   std::function<void(absl::StatusOr<uint64_t>)> done) {
  if (!prepared_->services.contains(name)) {
    return done(absl::NotFoundError(absl::StrCat("there is no service '", name, "'")));
  }
  std::set<std::string> stopped = stopped_;
  if (stop) {
    stopped.insert(name);
  } else {
    stopped.erase(name);
  }
  if (absl::Status status = Apply(*prepared_, placement_, stopped); !status.ok()) {
    return done(status);
  }
  stopped_ = std::move(stopped);
  if (!stop) parts_.pool.RetryService(ids_.ids.at(name));
  HostEvent event;
  event.kind = stop ? "operator_stop" : "operator_start";
  event.service = name;
  event.uid = caller.uid;
  const uint64_t id = parts_.events.Record(std::move(event));
  const auto saved = [this, id, done = std::move(done)](const absl::Status& status) {
    boost::asio::post(parts_.loop, [id, done, status] {
      if (status.ok()) return done(id);
      done(Annotate(status, "in force, but not saved: it will not survive a restart"));
    });
  };
  if (stop) {
    parts_.state.SaveOperatorStop(name, {parts_.clock.Wall(), caller.uid}, saved);
  } else {
    parts_.state.ClearOperatorStop(name, saved);
  }
}

}  // namespace cohost::supervisor
