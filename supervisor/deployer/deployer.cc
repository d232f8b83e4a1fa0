// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/deployer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "boost/asio/post.hpp"
#include "supervisor/config/deployment_loader.h"
#include "supervisor/config/deployment_writer.h"
#include "supervisor/deployer/descriptor_need.h"
#include "supervisor/deployer/pool_targets.h"
#include "supervisor/deployer/signature_requirement.h"

namespace cohost::supervisor {
namespace {

// Reloads that may wait for the one that runs.
constexpr size_t kMostWaitingReloads = 16;

ConfigProblem HostProblem(const DeployerSettings& settings, const absl::Status& status) {
  return {settings.deployment_file, 0, 0, "", std::string(status.message())};
}

// A deployment of plain values does not know its lines any more; its file is known.
void NameFile(const DeployerSettings& settings, std::vector<ConfigProblem>& problems) {
  for (ConfigProblem& problem : problems) {
    if (problem.file.empty()) problem.file = settings.deployment_file;
  }
}

LoadResult ReadDeployment(const DeployerSettings& settings, const std::string& text,
                          const std::string& file_name) {
  if (text.empty()) return LoadDeployment(settings.deployment_file, settings.load_options);
  return ParseDeployment(text, file_name.empty() ? settings.deployment_file : file_name,
                         settings.load_options);
}

// Any thread: of `parts` only what is thread-safe or never changes.
Preparation Prepare(const DeployerParts& parts, Deployment deployment) {
  Preparation preparation =
      PrepareDeployment(std::move(deployment), parts.store, parts.settings.as_root);
  NameFile(parts.settings, preparation.problems);
  return preparation;
}

// With what operators have stopped, since that can be started at any time.
absl::Status CheckDescriptors(const PreparedDeployment& prepared, const Placement& placement) {
  size_t workers = 0;
  for (const PlacedGroup& group : placement.groups) workers += PolicyOf(prepared, group).workers;
  return CheckDescriptorLimit(WantedListeners(prepared, placement, {}).size(), workers,
                              DescriptorLimit());
}

// Names in the new and not in the old deployment, and the other way round; of those in both, the
// ones whose workers have to be told. Nothing for the first deployment of a supervisor.
void Compare(const PreparedDeployment* before, const PreparedDeployment& after,
             ReloadOutcome& outcome) {
  for (const auto& [name, service] : after.services) {
    const auto old = before == nullptr ? after.services.end() : before->services.find(name);
    if (before == nullptr) continue;
    if (old == before->services.end()) {
      outcome.added.push_back(name);
    } else if (!(old->second.service == service.service) ||
               old->second.revision != service.revision) {
      outcome.changed.push_back(name);
    }
  }
  if (before == nullptr) return;
  for (const auto& [name, service] : before->services) {
    if (!after.services.contains(name)) outcome.removed.push_back(name);
  }
}

// But for the keys, which are replaced while the host runs.
bool IsSameHost(Host a, const Host& b) {
  a.signing_keys = b.signing_keys;
  return a == b;
}

}  // namespace

std::vector<ConfigProblem> Deployer::Start(Deployment deployment, StateSnapshot snapshot) {
  Preparation preparation = Prepare(parts_, std::move(deployment));
  if (preparation.prepared == nullptr) return preparation.problems;

  placement_.record = std::move(snapshot.placement);
  ids_ = std::move(snapshot.service_ids);
  for (const auto& [name, stop] : snapshot.operator_stops) stopped_.insert(name);
  if (snapshot.revision) {
    revision_ = snapshot.revision->revision;
    text_ = std::move(snapshot.revision->deployment);
  }

  ReloadOutcome outcome;
  std::vector<ConfigProblem> problems = Commit(std::move(preparation.prepared), &outcome);
  if (problems.empty()) Save(nullptr);
  return problems;
}

absl::Status Deployer::CheckRevision(const Caller& caller) const {
  if (caller.if_revision == 0 || caller.if_revision == revision_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the host is at revision ", revision_,
                                                    ", not at ", caller.if_revision,
                                                    ": look again before you change it"));
}

absl::Status Deployer::Enforce(const PreparedDeployment& prepared, const Placement& placement) {
  COHOST_RETURN_IF_ERROR(CheckDescriptors(prepared, placement));
  COHOST_RETURN_IF_ERROR(MakeDataFolders(prepared, placement));
  return Apply(prepared, placement, stopped_);
}

std::vector<ConfigProblem> Deployer::Commit(std::unique_ptr<PreparedDeployment> prepared,
                                            ReloadOutcome* outcome) {
  absl::StatusOr<Placement> placement =
      Place(MakePlacementInput(prepared->deployment, placement_.record));
  if (!placement.ok()) return {HostProblem(parts_.settings, placement.status())};
  std::vector<ConfigProblem> unsigned_files = CheckSignatures(*prepared, *placement);
  NameFile(parts_.settings, unsigned_files);
  if (!unsigned_files.empty()) return unsigned_files;
  if (absl::Status enforced = Enforce(*prepared, *placement); !enforced.ok()) {
    return {HostProblem(parts_.settings, enforced)};
  }
  Compare(prepared_.get(), *prepared, *outcome);
  outcome->moved = placement->moved;
  std::string text = FormatDeployment(prepared->deployment);
  if (text != text_ || !outcome->changed.empty()) ++revision_;
  text_ = std::move(text);
  outcome->revision = revision_;
  prepared_ = std::move(prepared);
  placement_ = *std::move(placement);
  return {};
}

absl::Status Deployer::Apply(const PreparedDeployment& prepared, const Placement& placement,
                             const std::set<std::string>& stopped) {
  COHOST_ASSIGN_OR_RETURN(ListenerSet::Change change,
                          parts_.listeners.Prepare(WantedListeners(prepared, placement, stopped)));
  // From here on nothing fails. The pool duplicates what it needs before closed listeners go.
  const ListenerSet::Outcome listened = parts_.listeners.Commit(std::move(change));
  parts_.pool.Apply(MakePoolTarget(prepared, placement, stopped, parts_.listeners, ids_));
  const auto tell = [&](std::string_view kind, const std::string& text) {
    HostEvent event;
    event.kind = kind;
    event.message = text;
    parts_.events.Record(std::move(event));
  };
  for (const std::string& key : listened.opened) tell("listener_opened", key);
  for (const std::string& key : listened.closed) tell("listener_closed", key);
  for (const std::string& remark : listened.remarks) tell("listener_remark", remark);
  return absl::OkStatus();
}

void Deployer::Reload(const Caller& caller, ReloadDone done) {
  if (reloads_.size() >= kMostWaitingReloads) {
    done(absl::ResourceExhaustedError("too many reloads wait already"));
    return;
  }
  reloads_.emplace_back(caller, std::move(done));
  RunNextReload();
}

void Deployer::RunNextReload() {
  if (reloading_ || reloads_.empty()) return;
  const auto [caller, done] = std::move(reloads_.front());
  reloads_.pop_front();
  if (absl::Status status = CheckRevision(caller); !status.ok()) {
    done(status);
    RunNextReload();
    return;
  }
  reloading_ = true;
  boost::asio::post(parts_.disk, [this, caller = caller, done = done] {
    auto preparation = std::make_shared<Preparation>();
    LoadResult loaded = ReadDeployment(parts_.settings, "", "");
    if (loaded.deployment) {
      *preparation = Prepare(parts_, *std::move(loaded.deployment));
    } else {
      preparation->problems = ToProblems(loaded.errors);
    }
    boost::asio::post(parts_.loop, [this, caller, done, preparation] {
      FinishReload(caller, std::move(*preparation), done);
      reloading_ = false;
      RunNextReload();
    });
  });
}

void Deployer::FinishReload(const Caller& caller, Preparation preparation, const ReloadDone& done) {
  ReloadOutcome outcome;
  outcome.revision = revision_;
  outcome.problems = std::move(preparation.problems);
  if (preparation.prepared != nullptr) {
    if (!IsSameHost(preparation.prepared->deployment.host, prepared_->deployment.host)) {
      outcome.problems.push_back(
          HostProblem(parts_.settings,
                      absl::FailedPreconditionError(
                          "host: runtime_dir, state_dir, admin and metrics cannot change while "
                          "the host runs; restart it for that")));
    } else {
      outcome.problems = Commit(std::move(preparation.prepared), &outcome);
    }
  }
  HostEvent event;
  event.uid = caller.uid;
  if (outcome.problems.empty()) {
    Save(&caller);
    event.kind = "deployment_applied";
    event.message = absl::StrCat("revision ", revision_, ": ", outcome.added.size(), " added, ",
                                 outcome.removed.size(), " removed, ", outcome.changed.size(),
                                 " changed, ", outcome.moved.size(), " moved");
  } else {
    const ConfigProblem& first = outcome.problems.front();
    event.kind = "deployment_refused";
    event.message =
        absl::StrCat(outcome.problems.size(),
                     outcome.problems.size() == 1 ? " problem: " : " problems, the first: ",
                     Render({first.file, static_cast<int>(first.line),
                             static_cast<int>(first.column), first.key_path, first.message}));
  }
  parts_.events.Record(std::move(event));
  done(std::move(outcome));
}

void Deployer::Save(const Caller* caller) {
  StateRevision revision;
  revision.revision = revision_;
  revision.deployment = text_;
  revision.applied = parts_.clock.Wall();
  if (caller != nullptr) revision.uid = caller->uid;
  parts_.state.SaveDeployment(
      std::move(revision), placement_.record, ids_, [this](const absl::Status& status) {
        if (status.ok()) return;
        boost::asio::post(parts_.loop, [this, status] {
          HostEvent event;
          event.kind = "state_remark";
          event.message = absl::StrCat("the deployment is in force but was ",
                                       "not saved: ", AsAbsl(AsStd(status.message())));
          parts_.events.Record(std::move(event));
        });
      });
}

void Deployer::StopService(const Caller& caller, const std::string& name, EventDone done) {
  SetStopped(caller, name, /*stop=*/true, std::move(done));
}

void Deployer::StartService(const Caller& caller, const std::string& name, EventDone done) {
  SetStopped(caller, name, /*stop=*/false, std::move(done));
}

void Deployer::SetStopped(const Caller& caller, const std::string& name, bool stop,
                          EventDone done) {
  if (absl::Status status = CheckRevision(caller); !status.ok()) return done(status);
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
  // Answered when it is on the disk: an operator's stop that was acknowledged survives everything.
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

PlanOutcome PlanDeployment(const DeployerSettings& settings, const std::string& text,
                           const std::string& file_name, PlacementRecord previous) {
  PlanOutcome outcome;
  const LoadResult loaded = ReadDeployment(settings, text, file_name);
  if (!loaded.deployment) {
    outcome.problems = ToProblems(loaded.errors);
    return outcome;
  }
  const absl::StatusOr<Placement> placement =
      Place(MakePlacementInput(*loaded.deployment, std::move(previous)));
  if (!placement.ok()) {
    outcome.problems.push_back(HostProblem(settings, placement.status()));
    return outcome;
  }
  outcome.moved = placement->moved;
  for (const PlacedGroup& group : placement->groups) {
    PlannedGroupView& view = outcome.groups.emplace_back();
    view.name = group.name;
    view.declared = group.declared;
    view.workers = loaded.deployment->group_defaults.workers;
    for (const Group& declared : loaded.deployment->groups) {
      if (group.declared && declared.name == group.name) view.workers = declared.policy.workers;
    }
    for (const PlacedService& service : group.services) {
      view.services.emplace_back(service.name, service.reason);
    }
    view.memory = group.memory;
    view.peak_cpu = group.peak_cpu;
    view.reason = group.reason;
  }
  return outcome;
}

}  // namespace cohost::supervisor
