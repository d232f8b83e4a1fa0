// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/deployer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "boost/asio/post.hpp"
#include "supervisor/config/deployment_loader.h"
#include "supervisor/deployer/deployment_change.h"
#include "supervisor/deployer/pool_targets.h"
#include "supervisor/deployer/signature_requirement.h"

namespace cohost::supervisor {
namespace {

// Changes that may wait for the one that runs.
constexpr size_t kMostWaiting = 16;
// A replacement has the group's start_timeout; this is for what is around it.
constexpr absl::Duration kReplacementReserve = absl::Seconds(15);
// Of a hash, for people.
constexpr size_t kShortHash = 12;

std::string Short(const std::string& hash) { return hash.substr(0, kShortHash); }

// A deployment of plain values does not know its lines any more; its file is known.
void NameFile(const DeployerSettings& settings, std::vector<ConfigProblem>& problems) {
  for (ConfigProblem& problem : problems) {
    if (problem.file.empty()) problem.file = settings.deployment_file;
  }
}

// Any thread: of `parts` only what is thread-safe or never changes.
Preparation Prepare(const DeployerParts& parts, Deployment deployment, const HeldServices& held,
                    PrecompileMode mode = PrecompileMode::kCompile) {
  Preparation preparation = PrepareDeployment(std::move(deployment), parts.store,
                                              parts.settings.as_root, held, {parts.compiler, mode});
  NameFile(parts.settings, preparation.problems);
  return preparation;
}

// What of `host` may change at any time, the rest of it only between two runs: trusted keys, and
// .NET with its compiler.
void TakeChangeable(Host& host, const Host& from) {
  host.signing_keys = from.signing_keys;
  host.dotnet_root = from.dotnet_root;
  host.precompilation = from.precompilation;
  host.crossgen = from.crossgen;
}

bool IsSameHost(Host a, const Host& b) {
  TakeChangeable(a, b);
  return a == b;
}

// Of one service: what a change of it alone has to be asked.
Placement PlacementOf(const std::string& service, const Placement& placement) {
  Placement only;
  for (const PlacedGroup& group : placement.groups) {
    for (const PlacedService& placed : group.services) {
      if (placed.name != service) continue;
      only.groups.push_back(group);
      only.groups.back().services = {placed};
    }
  }
  return only;
}

std::string FirstProblem(const std::vector<ConfigProblem>& problems) {
  const ConfigProblem& first = problems.front();
  return absl::StrCat(problems.size(),
                      problems.size() == 1 ? " problem: " : " problems, the first: ",
                      Render({first.file, static_cast<int>(first.line),
                              static_cast<int>(first.column), first.key_path, first.message}));
}

}  // namespace

Deployer::Deployer(const DeployerParts& parts)
    : parts_(parts),
      earlier_(parts.state, parts.loop),
      in_force_({parts.loop, parts.clock, parts.state, parts.events, parts.listeners, parts.pool}) {
}

Deployer::~Deployer() = default;

// What the state knows of services that do not run as their file says, or, when the supervisor goes
// on after another, of all.
HeldServices Deployer::HeldFrom(const StateSnapshot& snapshot, bool goes_on) {
  HeldServices held;
  held.goes_on = goes_on;
  if (!snapshot.revision) return held;
  const std::optional<Deployment> last = ParseKept(*snapshot.revision);
  if (!last) return held;
  for (const Service& service : last->services) {
    const auto change = snapshot.services.find(service.name);
    const auto pin = snapshot.pins.find(service.name);
    if (change == snapshot.services.end() || (!goes_on && pin == snapshot.pins.end())) continue;
    HeldService& entry = held.services[service.name];
    entry = {service, change->second.files, std::nullopt};
    if (!goes_on) entry.replaced = pin->second.replaced;
  }
  return held;
}

HeldServices Deployer::Held() const {
  HeldServices held;
  for (const auto& [name, pin] : in_force_.pins()) {
    const PreparedService& service = prepared().services.at(name);
    held.services[name] = {service.service, HashesOf(service), pin.replaced};
  }
  return held;
}

std::vector<ConfigProblem> Deployer::Start(FirstDeployment first) {
  Preparation preparation =
      Prepare(parts_, std::move(first.deployment), HeldFrom(first.snapshot, first.goes_on),
              PrecompileMode::kKnownOnly);
  if (preparation.prepared == nullptr) return preparation.problems;
  ChangeReason reason;
  reason.action = ChangeAction::kStart;
  reason.checks_signatures = !first.goes_on;
  reason.pins = first.snapshot.pins;
  if (first.goes_on) {
    for (const auto& [name, pin] : reason.pins) {
      if (preparation.prepared->services.contains(name)) preparation.prepared->held.insert(name);
    }
  }
  in_force_.Restore(std::move(first.snapshot));
  auto outcome = in_force_.Commit(std::move(preparation.prepared), std::move(reason));
  if (!outcome.ok()) return {HostProblem(parts_.settings, outcome.status())};
  NameFile(parts_.settings, outcome->problems);
  return std::move(outcome->problems);
}

absl::Status Deployer::CheckRevision(const Caller& caller) const {
  if (caller.if_revision == 0 || caller.if_revision == revision()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the host is at revision ", revision(),
                                                    ", not at ", caller.if_revision,
                                                    ": look again before you change it"));
}

void Deployer::Begin(Operation operation) {
  if (operations_.size() >= kMostWaiting) {
    return operation.refuse(absl::ResourceExhaustedError("too many changes wait already"));
  }
  operations_.push_back(std::move(operation));
  RunNext();
}

void Deployer::RunNext() {
  if (running_ || operations_.empty()) return;
  const Operation operation = std::move(operations_.front());
  operations_.pop_front();
  if (absl::Status status = CheckRevision(operation.caller); !status.ok()) {
    operation.refuse(status);
    return RunNext();
  }
  running_ = true;
  operation.run();
}

void Deployer::EndOperation() {
  running_ = false;
  RunNext();
}

template <typename Result>
void Deployer::OnDisk(std::function<Result()> work, std::function<void(Result)> then) {
  boost::asio::post(parts_.disk, [this, work = std::move(work), then = std::move(then)] {
    auto result = std::make_shared<Result>(work());
    boost::asio::post(parts_.loop, [then, result] { then(std::move(*result)); });
  });
}

void Deployer::Reload(const Caller& caller, ChangeAction action, Done<ReloadOutcome> done) {
  const auto run = [this, caller, action, done] {
    // What was held here says nothing about a deployment of another host.
    HeldServices kept;
    if (action != ChangeAction::kImport) kept = Held();
    OnDisk<Preparation>(
        [this, held = std::move(kept)] {
          LoadResult loaded = ReadDeployment(parts_.settings, "", "");
          if (loaded.deployment) return Prepare(parts_, *std::move(loaded.deployment), held);
          Preparation preparation;
          preparation.problems = ToProblems(loaded.errors);
          return preparation;
        },
        [this, caller, action, done](Preparation preparation) {
          FinishReload(caller, action, std::move(preparation), done);
          EndOperation();
        });
  };
  Begin({caller, run, done});
}

void Deployer::FinishReload(const Caller& caller, ChangeAction action, Preparation preparation,
                            const Done<ReloadOutcome>& done) {
  ReloadOutcome outcome;
  outcome.revision = revision();
  outcome.problems = std::move(preparation.problems);
  if (preparation.prepared != nullptr) {
    if (!IsSameHost(preparation.prepared->deployment.host, prepared().deployment.host)) {
      outcome.problems.push_back(
          HostProblem(parts_.settings,
                      absl::FailedPreconditionError(
                          "host: runtime_dir, state_dir, admin and metrics cannot change while "
                          "the host runs; restart it for that")));
    } else {
      ChangeReason reason{action, caller.uid, {}, /*checks_signatures=*/true, nullptr};
      if (action != ChangeAction::kImport) reason.pins = in_force_.pins();
      auto committed = in_force_.Commit(std::move(preparation.prepared), std::move(reason));
      if (committed.ok()) {
        outcome = *std::move(committed);
        NameFile(parts_.settings, outcome.problems);
      } else {
        outcome.problems.push_back(HostProblem(parts_.settings, committed.status()));
      }
    }
  }
  if (outcome.problems.empty()) {
    Tell("deployment_applied", "", &caller,
         absl::StrCat("revision ", revision(), ": ", SummaryOf(outcome)));
  } else {
    Tell("deployment_refused", "", &caller, FirstProblem(outcome.problems));
  }
  done(std::move(outcome));
}

void Deployer::Deploy(const Caller& caller, DeployRequest request, Done<DeployOutcome> done) {
  const auto run = [this, caller, request = std::move(request), done] {
    const auto found = prepared().services.find(request.service);
    if (found == prepared().services.end()) {
      done(absl::NotFoundError(absl::StrCat("there is no service '", request.service, "'")));
      return EndOperation();
    }
    auto next = std::make_shared<NextVersion>();
    next->caller = caller;
    next->wait = request.wait;
    next->canary_time = request.canary_time;
    next->done = done;
    Service service = found->second.service;
    std::string& source = service.runtime == Runtime::kDotnet ? service.dotnet.app : service.module;
    // Another file than the deployment names; or one that is held stays held.
    next->held = in_force_.pins().contains(service.name) ||
                 (!request.path.empty() && request.path != source);
    if (!request.path.empty()) source = request.path;
    OnDisk<ServicePreparation>(
        [this, service, around = SurroundingsOf(service.name)] {
          return PrepareService(service, parts_.store, around, nullptr);
        },
        [this, next](ServicePreparation preparation) { Take(next, std::move(preparation)); });
  };
  Begin({caller, run, done});
}

ServiceSurroundings Deployer::SurroundingsOf(const std::string& service) const {
  ServiceSurroundings around{
      prepared().deployment.host,
      {{prepared().default_identity.uid}, prepared().deployment.group_defaults.dotnet},
      {parts_.compiler, PrecompileMode::kCompile},
      prepared().default_identity};
  for (const PlacedGroup& group : PlacementOf(service, placement()).groups) {
    around.place.owner.uid = IdentityOf(prepared(), group).uid;
    around.place.dotnet = PolicyOf(prepared(), group).dotnet;
  }
  return around;
}

void Deployer::Take(const std::shared_ptr<NextVersion>& next, ServicePreparation preparation) {
  std::vector<ConfigProblem>& problems = next->outcome.problems;
  problems = std::move(preparation.problems);
  if (problems.empty()) {
    next->service = *std::move(preparation.prepared);
    next->deployment = NextDeployment(next->service, preparation.signers);
    next->outcome.remarks = std::move(preparation.remarks);
    problems =
        CheckSignatures(*next->deployment, PlacementOf(next->service.service.name, placement()));
  }
  if (problems.empty()) return Try(next);
  NameFile(parts_.settings, problems);
  next->outcome.revision = revision();
  next->done(std::move(next->outcome));
  EndOperation();
}

std::unique_ptr<PreparedDeployment> Deployer::NextDeployment(
    const PreparedService& service, const std::map<std::string, ContentSigners>& signers) const {
  auto deployment = std::make_unique<PreparedDeployment>(prepared());
  const std::string& name = service.service.name;
  for (Service& other : deployment->deployment.services) {
    if (other.name == name) other = service.service;
  }
  deployment->services[name] = service;
  for (const auto& [hash, by] : signers) deployment->signers.insert_or_assign(hash, by);
  return deployment;
}

void Deployer::Try(const std::shared_ptr<NextVersion>& next) {
  const std::string& name = next->service.service.name;
  const PreparedService& now = prepared().services.at(name);
  DeployOutcome& outcome = next->outcome;
  outcome.revision = revision();
  outcome.service = name;
  outcome.module_before = now.module.hash;
  outcome.module_after = next->service.module.hash;
  if (next->service.revision == now.revision && next->service.service == now.service) {
    next->done(std::move(outcome));
    return EndOperation();
  }
  // Nothing runs of a stopped service, so there is nothing to try.
  if (stopped().contains(name)) return Switch(next);
  const absl::Status begun = in_force_.BeginCanary(next->service);
  // It differs in more than what a worker is told: then it changes like a reload.
  if (absl::IsFailedPrecondition(begun)) {
    outcome.remarks.push_back(
        absl::StrCat("it was not tried in one worker first: ", AsAbsl(AsStd(begun.message()))));
    return Switch(next);
  }
  if (!begun.ok()) {
    next->done(begun);
    return EndOperation();
  }
  Tell("deploy", name, &next->caller,
       absl::StrCat("module ", Short(outcome.module_after), " is tried in one worker"));
  canary_ = std::make_unique<Rollout>(parts_.timers, Watch(*next, /*canary_only=*/true),
                                      [this, next](absl::StatusOr<std::vector<std::string>> tried) {
                                        // The rollout ends after its own call.
                                        boost::asio::post(parts_.loop,
                                                          [this, next, tried = std::move(tried)] {
                                                            canary_.reset();
                                                            EndTry(next, tried);
                                                          });
                                      });
}

void Deployer::EndTry(const std::shared_ptr<NextVersion>& next,
                      absl::StatusOr<std::vector<std::string>> outcome) {
  if (outcome.ok()) return Switch(next);
  in_force_.EndCanary();
  const std::string text =
      absl::StrCat("the version in force goes on: ", AsAbsl(AsStd(outcome.status().message())));
  Tell("deploy_failed", next->service.service.name, &next->caller, text);
  next->done(absl::FailedPreconditionError(
      absl::StrCat("the new version of '", next->service.service.name,
                   "' did not get ready in the first worker, and ", text)));
  EndOperation();
}

void Deployer::Switch(const std::shared_ptr<NextVersion>& next) {
  const std::string& name = next->service.service.name;
  std::unique_ptr<PreparedDeployment> deployment = std::move(next->deployment);
  ChangeReason reason{next->action, next->caller.uid, in_force_.pins(),
                      /*checks_signatures=*/false,
                      [this, next](const absl::Status& saved) { EndSwitch(next, saved); }};
  const ServicePin pin = in_force_.PinFor(name);
  // Back to what the deployment file says: nothing is held any more.
  const bool held = next->held && SourceFingerprint(next->service) != pin.replaced;
  deployment->held.clear();
  for (const auto& [service, old] : reason.pins) deployment->held.insert(service);
  if (held) {
    reason.pins[name] = pin;
    deployment->held.insert(name);
  } else {
    deployment->held.erase(name);
  }
  auto committed = in_force_.Commit(std::move(deployment), std::move(reason));
  if (!committed.ok()) {
    in_force_.EndCanary();
    next->done(committed.status());
    return EndOperation();
  }
  next->outcome.changed = true;
  next->outcome.revision = committed->revision;
  if (held) {
    next->outcome.remarks.push_back(
        absl::StrCat("the deployment file says something else of '", name,
                     "': this version is kept until it says something new"));
  }
  Tell("deployment_applied", name, &next->caller,
       absl::StrCat("revision ", revision(), ": ", AsAbsl(Name(next->action)), ", module ",
                    Short(next->outcome.module_before), " -> ", Short(next->outcome.module_after)));
}

void Deployer::EndSwitch(const std::shared_ptr<NextVersion>& next, const absl::Status& saved) {
  if (!saved.ok()) {
    next->done(absl::AbortedError(
        absl::StrCat("revision ", next->outcome.revision,
                     " is in force but could not be saved, so that it will not survive a restart: ",
                     AsAbsl(AsStd(saved.message())))));
  } else if (next->wait && !stopped().contains(next->service.service.name)) {
    Follow(next);
  } else {
    next->done(std::move(next->outcome));
  }
  EndOperation();
}

void Deployer::Follow(const std::shared_ptr<NextVersion>& next) {
  auto& rollout = followed_.emplace_back();
  const auto entry = std::prev(followed_.end());
  rollout = std::make_unique<Rollout>(
      parts_.timers, Watch(*next, /*canary_only=*/false),
      [this, next, entry](absl::StatusOr<std::vector<std::string>> served) {
        if (served.ok()) {
          next->outcome.serving = *std::move(served);
          next->done(std::move(next->outcome));
        } else {
          next->done(absl::AbortedError(
              absl::StrCat("revision ", next->outcome.revision, " of '", next->service.service.name,
                           "' is in force, but ", AsAbsl(AsStd(served.status().message())))));
        }
        // The rollout ends after its own call.
        boost::asio::post(parts_.loop, [this, entry] { followed_.erase(entry); });
      });
  rollout->Look();
}

RolloutSettings Deployer::Watch(const NextVersion& next, bool canary_only) const {
  RolloutSettings settings;
  settings.group = in_force_.GroupOf(next.service.service.name);
  const uint64_t id = ids().ids.at(next.service.service.name);
  const uint64_t revision = next.service.revision;
  settings.slots = [&pool = parts_.pool, id, revision] { return pool.RolloutOf(id, revision); };
  size_t replacements = 1;
  absl::Duration each = kReplacementReserve + prepared().deployment.group_defaults.start_timeout;
  for (const PlacedGroup& group : placement().groups) {
    if (group.name != settings.group) continue;
    const GroupPolicy& policy = PolicyOf(prepared(), group);
    each = kReplacementReserve + policy.start_timeout;
    if (!canary_only) replacements = policy.workers;
  }
  settings.limit = each * static_cast<int64_t>(replacements) + next.canary_time;
  if (canary_only) settings.soak = next.canary_time;
  return settings;
}

void Deployer::LookAtRollouts() {
  if (canary_ != nullptr) canary_->Look();
  for (const auto& rollout : followed_) rollout->Look();
}

void Deployer::Rollback(const Caller& caller, RollbackRequest request, Done<DeployOutcome> done) {
  const auto run = [this, caller, request, done] {
    if (request.service.empty()) return RestoreDeployment(caller, request.revision, done);
    const auto found = prepared().services.find(request.service);
    if (found != prepared().services.end()) {
      return earlier_.Find(request.service, request.revision, SourceFingerprint(found->second),
                           [this, caller, request, done](const absl::StatusOr<EarlierVersion>& to) {
                             if (to.ok()) return RestoreService(caller, request, *to, done);
                             done(to.status());
                             EndOperation();
                           });
    }
    done(absl::NotFoundError(absl::StrCat("there is no service '", request.service, "'")));
    EndOperation();
  };
  Begin({caller, run, done});
}

void Deployer::RestoreService(const Caller& caller, const RollbackRequest& request,
                              const EarlierVersion& version, const Done<DeployOutcome>& done) {
  auto next = std::make_shared<NextVersion>();
  next->caller = caller;
  next->action = ChangeAction::kRollback;
  next->held = true;
  next->wait = request.wait;
  next->outcome.restored = version.change.revision;
  next->done = done;
  OnDisk<ServicePreparation>(
      [this, version, around = SurroundingsOf(version.service.name)] {
        return PrepareService(version.service, parts_.store, around, &version.change.files);
      },
      [this, next](ServicePreparation preparation) { Take(next, std::move(preparation)); });
}

void Deployer::RestoreDeployment(const Caller& caller, uint64_t revision,
                                 const Done<DeployOutcome>& done) {
  earlier_.Read(
      revision, [this, caller, revision, done](const absl::StatusOr<EarlierDeployment>& earlier) {
        if (!earlier.ok()) {
          done(earlier.status());
          return EndOperation();
        }
        Deployment deployment = earlier->deployment;
        // A key that is not trusted any more does not come back with an old deployment, nor does a
        // .NET that may be gone.
        TakeChangeable(deployment.host, prepared().deployment.host);
        OnDisk<Preparation>([this, deployment = std::move(deployment),
                             files = earlier->files] { return Prepare(parts_, deployment, files); },
                            [this, caller, revision, done](Preparation preparation) {
                              FinishRestore(caller, revision, std::move(preparation), done);
                              EndOperation();
                            });
      });
}

void Deployer::FinishRestore(const Caller& caller, uint64_t restored, Preparation preparation,
                             const Done<DeployOutcome>& done) {
  DeployOutcome outcome;
  outcome.revision = revision();
  outcome.restored = restored;
  outcome.problems = std::move(preparation.problems);
  if (preparation.prepared == nullptr) return done(std::move(outcome));
  if (!IsSameHost(preparation.prepared->deployment.host, prepared().deployment.host)) {
    return done(absl::FailedPreconditionError(
        absl::StrCat("revision ", restored,
                     " has other values of host:, which cannot change while the host runs")));
  }
  ChangeReason reason{ChangeAction::kRollback, caller.uid, {}, /*checks_signatures=*/true, nullptr};
  for (const auto& [name, service] : preparation.prepared->services) {
    if (!prepared().services.contains(name)) continue;
    const ServicePin pin = in_force_.PinFor(name);
    if (SourceFingerprint(service) == pin.replaced) continue;
    reason.pins[name] = pin;
    preparation.prepared->held.insert(name);
  }
  const uint64_t before = revision();
  auto committed = in_force_.Commit(std::move(preparation.prepared), std::move(reason));
  if (!committed.ok()) return done(committed.status());
  if (!committed->problems.empty()) {
    outcome.problems = std::move(committed->problems);
    NameFile(parts_.settings, outcome.problems);
    return done(std::move(outcome));
  }
  outcome.revision = committed->revision;
  outcome.changed = committed->revision != before;
  outcome.remarks.push_back(
      absl::StrCat("services that the deployment file adds or leaves out are so again after the "
                   "next reload: put the file right before it"));
  Tell("deployment_applied", "", &caller,
       absl::StrCat("revision ", revision(), ": rollback to revision ", restored, ", ",
                    SummaryOf(*committed)));
  done(std::move(outcome));
}

void Deployer::StopService(const Caller& caller, const std::string& name, Done<uint64_t> done) {
  if (absl::Status status = CheckRevision(caller); !status.ok()) return done(status);
  in_force_.SetStopped(caller, name, /*stop=*/true, std::move(done));
}

void Deployer::StartService(const Caller& caller, const std::string& name, Done<uint64_t> done) {
  if (absl::Status status = CheckRevision(caller); !status.ok()) return done(status);
  in_force_.SetStopped(caller, name, /*stop=*/false, std::move(done));
}

void Deployer::ReadHistory(const std::string& service, size_t limit, Done<HistoryView> done) {
  HistoryView view;
  view.current = revision();
  const auto pin = in_force_.pins().find(service);
  if (pin != in_force_.pins().end()) view.held_since = pin->second.revision;
  if (service.empty()) {
    return parts_.state.ReadRevisions(
        limit, [this, view, done](absl::StatusOr<std::vector<StateRevision>> revisions) mutable {
          const absl::Status status = revisions.status();
          if (status.ok()) view.revisions = *std::move(revisions);
          boost::asio::post(parts_.loop,
                            [view, done, status] { status.ok() ? done(view) : done(status); });
        });
  }
  const bool deployed = prepared().services.contains(service);
  parts_.state.ReadChanges(
      service, limit,
      [this, view, done, service,
       deployed](absl::StatusOr<std::vector<ServiceChange>> changes) mutable {
        absl::Status status = changes.status();
        if (status.ok() && changes->empty() && !deployed) {
          status = absl::NotFoundError(absl::StrCat("'", service, "' was never deployed here"));
        }
        if (status.ok()) view.changes = *std::move(changes);
        boost::asio::post(parts_.loop,
                          [view, done, status] { status.ok() ? done(view) : done(status); });
      });
}

void Deployer::MaintainStore(bool check, bool collect, Done<StoreOutcome> done) {
  const auto run = [this, check, collect, done] {
    parts_.state.ReadHashes(
        [this, check, collect, done](absl::StatusOr<std::set<std::string>> hashes) {
          boost::asio::post(parts_.loop,
                            [this, check, collect, done, hashes = std::move(hashes)]() mutable {
                              if (hashes.ok()) {
                                return Collect(*std::move(hashes), {check, collect}, done);
                              }
                              done(hashes.status());
                              EndOperation();
                            });
        });
  };
  Begin({Caller{}, run, done});
}

void Deployer::Collect(std::set<std::string> versions, StoreTasks tasks,
                       const Done<StoreOutcome>& done) {
  StoreNeeds needs{std::move(versions), {}};
  for (const auto& [name, service] : prepared().services) {
    needs.versions.insert(service.module.hash);
    for (UsedFile& file : FilesOf(service)) {
      needs.files.push_back({name, std::move(file.source), file.stored.hash, file.stored.kind});
    }
  }
  OnDisk<absl::StatusOr<StoreOutcome>>(
      [this, needs = std::move(needs), state = prepared().deployment.host.state_dir, tasks] {
        return CareForStore(parts_.store, state, needs, tasks);
      },
      [this, done](absl::StatusOr<StoreOutcome> outcome) {
        if (outcome.ok()) {
          std::set<std::string> removed;
          for (const StoredFile& file : outcome->collection.removed) removed.insert(file.hash);
          if (!removed.empty()) {
            Tell("store_collected", "", nullptr,
                 absl::StrCat(removed.size(), " files that nobody uses, ",
                              FormatBytes(outcome->collection.freed)));
            // Ignoring a failure: a row without its file is only a line of history.
            parts_.state.ForgetModules(std::move(removed), [](const absl::Status&) {});
          }
          if (!outcome->removed_trees.empty()) {
            Tell("trees_collected", "", nullptr,
                 absl::StrCat(outcome->removed_trees.size(), " versions that nobody goes back to"));
          }
          for (const std::string& damaged : outcome->check.damaged) {
            Tell("store_damaged", "", nullptr, damaged);
          }
        }
        done(std::move(outcome));
        EndOperation();
      });
}

void Deployer::Tell(std::string_view kind, const std::string& service, const Caller* caller,
                    const std::string& text) {
  HostEvent event;
  event.kind = kind;
  event.service = service;
  if (caller != nullptr) event.uid = caller->uid;
  event.message = text;
  parts_.events.Record(std::move(event));
}

}  // namespace cohost::supervisor
