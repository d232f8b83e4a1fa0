// SPDX-License-Identifier: Apache-2.0
#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/build_id.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "base/system/resident_pages.h"
#include "boost/asio/post.hpp"
#include "supervisor/config/deployment_loader.h"
#include "supervisor/deployer/deployment_export.h"
#include "supervisor/deployer/pool_targets.h"
#include "supervisor/process/instance_lock.h"
#include "supervisor/ready_line.h"

namespace cohost::supervisor {
namespace {

// When everything serves, what only the start needed is not needed any more.
constexpr absl::Duration kSettleTime = absl::Seconds(1);
// The first look, when every service has just become ready.
// A reload is often followed by another.
constexpr absl::Duration kCollectDelay = absl::Minutes(1);
constexpr absl::Duration kFirstSample = absl::Seconds(2);
// Generations of sample workers: so many for each of so many supervisors in a row.
constexpr uint32_t kSamplesOfOne = 100'000;
constexpr uint32_t kSupervisorsApart = 10'000;
// How long the state may take to write what is queued at the end.
constexpr absl::Duration kStateCloseLimit = absl::Seconds(2);
constexpr absl::Duration kAdminStopLimit = absl::Seconds(2);
// What the keeper holds so that the next supervisor knows how long the first start took.
constexpr char kReadyEntry[] = "ready-after";
// And where it finds the state, which is said only in the deployment that the state has.
constexpr char kStateEntry[] = "state-dir";

int Complain(int exit_code, const absl::Status& status) {
  fprintf(stderr, "cohost: %s\n", std::string(status.message()).c_str());
  return exit_code;
}

int Complain(const std::vector<ConfigProblem>& problems) {
  for (const ConfigProblem& problem : problems) {
    const ConfigError error{problem.file, static_cast<int>(problem.line),
                            static_cast<int>(problem.column), problem.key_path, problem.message};
    fprintf(stderr, "%s\n", Render(error).c_str());
  }
  return 1;
}

std::vector<std::string> WorkerEnvironment() {
  std::vector<std::string> environment = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  for (const char* name : {"LANG", "LC_ALL", "TZ"}) {
    if (const char* value = getenv(name); value != nullptr) {
      environment.push_back(absl::StrCat(name, "=", value));
    }
  }
  return environment;
}

// The entries whose names begin with one of the prefixes, taken out of `held`.
std::vector<HeldEntry> TakeEntries(std::vector<HeldEntry>& held,
                                   std::initializer_list<std::string_view> prefixes) {
  std::vector<HeldEntry> taken;
  std::vector<HeldEntry> left;
  for (HeldEntry& entry : held) {
    const bool wanted = std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
      return entry.name.compare(0, prefix.size(), prefix) == 0;
    });
    (wanted ? taken : left).push_back(std::move(entry));
  }
  held = std::move(left);
  return taken;
}

absl::StatusOr<UniqueFd> Duplicate(const Listener& listener) {
  UniqueFd copy(fcntl(listener.fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return ErrnoStatus(errno, "fcntl(F_DUPFD_CLOEXEC)", listener.address.text);
  return copy;
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options)
    : options_(std::move(options)),
      as_root_(geteuid() == 0),
      started_(SystemClock().Wall()),
      log_(STDERR_FILENO, "supervisor"),
      loop_(1),
      timers_(loop_),
      clients_(loop_),
      endpoints_timer_(timers_),
      settle_timer_(timers_),
      store_timer_(timers_),
      rollout_timer_(timers_) {}

Supervisor::~Supervisor() {
  // Who calls from other threads ends first, then who works on other threads.
  admin_.reset();
  metrics_.reset();
  unshared_.reset();
  meter_.reset();
  // Who waits for a compiler waits no longer.
  if (programs_ != nullptr) programs_->Stop();
  publishing_.join();
  disk_.join();
}

int Supervisor::Run() {
  if (const int exit_code = Start(); exit_code != 0) return exit_code;
  loop_.run();
  if (admin_ != nullptr) {
    if (absl::Status stopped = admin_->Stop(kAdminStopLimit); !stopped.ok()) {
      log_.Warning("the admin server did not stop", {{"text", AsStd(stopped.message())}});
    }
  }
  if (absl::Status closed = state_->Close(kStateCloseLimit); !closed.ok()) {
    log_.Warning("the state was not written whole", {{"text", AsStd(closed.message())}});
  }
  return exit_code_;
}

int Supervisor::Start() {
  if (const int code = Connect(); code != 0) return code;
  std::optional<Deployment> deployment = LastDeployment();
  const bool goes_on = deployment.has_value();
  if (!deployment) {
    LoadResult loaded = LoadDeployment(options_.deployment_file, options_.load_options);
    if (!loaded.deployment) return Complain(ToProblems(loaded.errors));
    deployment = std::move(loaded.deployment);
  }
  host_ = deployment->host;
  if (const int code = OpenFolders(); code != 0) return code;
  if (const int code = TakeLock(); code != 0) return code;
  if (const int code = OpenState(); code != 0) return code;
  if (const int code = PutInForce({*std::move(deployment), std::move(kept_), goes_on}); code != 0) {
    return code;
  }
  meter_ = std::make_unique<MemoryMeter>(
      MemoryMeterParts{loop_, timers_, SystemClock(), [this] { return Processes(); },
                       [this]() -> const std::vector<ListedFile>& { return modules_; },
                       [this] { gateway_->Invalidate(); },
                       static_cast<uint64_t>(SystemClock().Steady().nanoseconds)});
  unshared_ = std::make_unique<UnsharedMeter>(*meter_, *samples_);
  gateway_ = std::make_unique<HostGateway>(loop_, SystemClock(), *this);
  keeper_->OnShutdown([this] { BeginShutdown(); });
  keeper_->OnReload([this] { ReloadFromSignal(); });
  keeper_->OnDisconnect([this](const absl::Status& status) {
    // Without the keeper nothing can be started any more; workers drain by themselves.
    log_.Error("the keeper is gone", {{"text", AsStd(status.message())}});
    exit_code_ = 2;
    loop_.stop();
  });
  HostEvent event;
  event.kind = "supervisor_started";
  event.message = absl::StrCat("version ", options_.version, ", restart ",
                               inheritance_.supervisor_restarts, " of this keeper");
  events_->Record(std::move(event));
  RefreshModules();
  meter_->Begin(kFirstSample);
  // After the pool's own first turn. The keeper answers in order: with the answer to this it has
  // been asked to start the workers, which it does while the endpoints open.
  endpoints_timer_.Start(absl::ZeroDuration(), [this] {
    keeper_->Hold(kStateEntry, host_.state_dir, {}, [this](const absl::Status& held) {
      if (!held.ok()) {
        log_.Warning("the keeper does not hold the state's place",
                     {{"text", AsStd(held.message())}});
      }
      exit_code_ = OpenEndpoints();
      if (exit_code_ == 0) return ReportReadyOnce();
      loop_.stop();
    });
  });
  return 0;
}

int Supervisor::Connect() {
  auto connected = KeeperClient::Connect(loop_, UniqueFd(options_.keeper_socket));
  if (!connected.ok()) return Complain(2, connected.status());
  keeper_ = std::move(connected->first);
  inheritance_ = std::move(connected->second);
  for (const HeldEntry& entry : inheritance_.held) {
    int64_t nanoseconds = 0;
    if (entry.name == kReadyEntry && absl::SimpleAtoi(entry.blob, &nanoseconds)) {
      ready_after_ = absl::Nanoseconds(nanoseconds);
    }
  }
  return 0;
}

std::optional<Deployment> Supervisor::LastDeployment() {
  const auto held = std::find_if(inheritance_.held.begin(), inheritance_.held.end(),
                                 [](const HeldEntry& entry) { return entry.name == kStateEntry; });
  if (held == inheritance_.held.end()) return std::nullopt;
  host_.state_dir = held->blob;
  if (OpenState() != 0 || !kept_.revision || kept_.revision->deployment.empty()) {
    return std::nullopt;
  }
  LoadOptions options;
  options.formatted = true;
  LoadResult last = ParseDeployment(kept_.revision->deployment,
                                    host_.state_dir + "/state.db: last deployment", options);
  if (!last.deployment) {
    log_.Warning("the last deployment cannot be in force any more: reading the file",
                 {{"text", std::string_view(Render(last.errors.front()))}});
  }
  return std::move(last.deployment);
}

int Supervisor::OpenFolders() {
  const std::pair<std::string, mode_t> folders[] = {{host_.runtime_dir, 0755},
                                                    {host_.state_dir, 0755},
                                                    {host_.state_dir + "/logs", 0750},
                                                    {host_.state_dir + "/data", 0755}};
  for (const auto& [path, mode] : folders) {
    if (absl::Status made = MakeFolders(path, mode); !made.ok()) {
      return Complain(absl::IsPermissionDenied(made) ? 1 : 2,
                      Annotate(made,
                               "the host's folders (--runtime-dir and --state-dir, or host: "
                               "in the deployment, choose others)"));
    }
  }
  return 0;
}

int Supervisor::TakeLock() {
  if (const int code = TakeLock(host_.runtime_dir, kInstanceLockName); code != 0) return code;
  // Another host with other sockets must not write the same state.
  if (host_.state_dir == host_.runtime_dir) return 0;
  return TakeLock(host_.state_dir, kStateLockName);
}

int Supervisor::TakeLock(const std::string& folder, const char* name) {
  for (const HeldEntry& entry : inheritance_.held) {
    if (entry.name == name) return 0;
  }
  absl::StatusOr<UniqueFd> lock = AcquireInstanceLock(folder, getppid());
  if (!lock.ok()) return Complain(absl::IsAlreadyExists(lock.status()) ? 1 : 2, lock.status());
  keeper_->Hold(name, "", {lock->get()}, [this](const absl::Status& held) {
    if (held.ok()) return;
    log_.Error("the keeper does not hold the lock", {{"text", AsStd(held.message())}});
  });
  return 0;
}

int Supervisor::OpenState() {
  if (state_ != nullptr) return 0;
  State::Options options;
  options.path = host_.state_dir + "/state.db";
  options.notice = [this](const std::string& text) {
    boost::asio::post(loop_, [this, text] {
      log_.Warning("state", {{"text", std::string_view(text)}});
    });
  };
  State::Opened opened = State::Open(std::move(options));
  state_ = std::move(opened.state);
  kept_ = std::move(opened.snapshot);
  events_ = std::make_unique<EventLog>(*state_, log_, SystemClock());
  std::vector<std::string> notices = std::move(opened.notices);
  auto store = ModuleStore::Open({.folder = host_.state_dir + "/modules"}, &notices);
  if (!store.ok()) return Complain(2, store.status());
  store_ = *std::move(store);
  for (const std::string& notice : notices) {
    HostEvent event;
    event.kind = "state_remark";
    event.message = notice;
    events_->Record(std::move(event));
  }
  return 0;
}

int Supervisor::PutInForce(FirstDeployment first) {
  listeners_ = std::make_unique<ListenerSet>(*keeper_);
  listeners_->Inherit(TakeEntries(inheritance_.held, {"listener/", "activation/"}));
  PoolSettings settings;
  settings.worker_program = options_.worker_program;
  if (auto id = BuildIdOfFile(options_.worker_program); id.ok()) {
    settings.binary_id = *std::move(id);
  } else {
    // The first worker that is started says what is wrong.
    log_.Warning("workers of other builds are not replaced",
                 {{"text", AsStd(id.status().message())}});
  }
  settings.log_folder = host_.state_dir + "/logs";
  settings.worker_folders = host_.runtime_dir + "/workers";
  settings.environment = WorkerEnvironment();
  settings.seed = static_cast<uint64_t>(SystemClock().Steady().nanoseconds);
  const PoolParts parts{loop_,    timers_,  SystemClock(), *keeper_,
                        *keeper_, clients_, *this,         std::move(settings)};
  pool_ = std::make_unique<Pool>(parts);
  // One of the supervisor before may still be ending in the pool.
  samples_ = std::make_unique<SampleWorkers>(
      parts, (inheritance_.supervisor_restarts % kSupervisorsApart) * kSamplesOfOne);
  programs_ = std::make_unique<LauncherProcessRunner>(
      loop_, *keeper_, static_cast<uint32_t>(inheritance_.supervisor_restarts));
  programs_->KillLeftovers(inheritance_.processes);
  compiler_ = std::make_unique<ApplicationCompiler>(*store_, *programs_);
  keeper_->OnExit([this](const ExitRecord& record) {
    if (programs_->HandleExit(record) || samples_->HandleExit(record)) return;
    pool_->HandleExit(record);
  });
  if (absl::Status adopted = pool_->Adopt(inheritance_); !adopted.ok()) return Complain(2, adopted);
  deployer_ = std::make_unique<Deployer>(
      DeployerParts{loop_,
                    publishing_,
                    timers_,
                    SystemClock(),
                    *state_,
                    *events_,
                    *store_,
                    *listeners_,
                    *pool_,
                    {options_.deployment_file, options_.load_options, as_root_},
                    compiler_.get()});
  const std::vector<ConfigProblem> problems = deployer_->Start(std::move(first));
  return problems.empty() ? 0 : Complain(problems);
}

const Listener* Supervisor::FindListener(const Address& address, const char* name) const {
  return listeners_->Find(ListenerKey(address, name, 0));
}

int Supervisor::OpenEndpoints() {
  absl::StatusOr<UniqueFd> admin = Duplicate(*FindListener(host_.admin, kAdminListener));
  if (!admin.ok()) return Complain(2, admin.status());
  AdminServerOptions admin_options;
  admin_options.version = options_.version;
  admin_options.dumps_folder = host_.state_dir + "/dumps";
  admin_options.on_problem = [this](std::string_view text) {
    log_.Warning("admin", {{"text", text}});
  };
  auto admin_server =
      AdminServer::Start(*gateway_, loop_, *std::move(admin), std::move(admin_options));
  if (!admin_server.ok()) return Complain(2, admin_server.status());
  admin_ = *std::move(admin_server);
  if (!host_.metrics) return 0;
  absl::StatusOr<UniqueFd> metrics = Duplicate(*FindListener(*host_.metrics, kMetricsListener));
  if (!metrics.ok()) return Complain(2, metrics.status());
  MetricsServerOptions metrics_options;
  metrics_options.version = options_.version;
  auto metrics_server = MetricsServer::Start([this] { return gateway_->snapshot(); },
                                             *std::move(metrics), std::move(metrics_options));
  if (!metrics_server.ok()) return Complain(2, metrics_server.status());
  metrics_ = *std::move(metrics_server);
  return 0;
}

void Supervisor::BeginShutdown() {
  if (std::exchange(shutting_down_, true)) return;
  log_.Info("shutting down",
            {{"limit", std::string_view(absl::FormatDuration(options_.drain_limit))}});
  programs_->Stop();
  // A sample has nothing to finish: first it, then the workers that have.
  unshared_->Stop([this] {
    pool_->StopAll(options_.drain_limit, [this] {
      listeners_->Close();
      keeper_->ReportShutdownComplete(0);
      // One turn more, so that what was just said to the keeper is on its way.
      boost::asio::post(loop_, [this] { loop_.stop(); });
    });
  });
}

void Supervisor::ReloadFromSignal() {
  Caller caller;
  caller.uid = geteuid();
  // The outcome is an event already, for which the keeper's SIGHUP has nobody else to tell.
  deployer_->Reload(caller, ChangeAction::kReload,
                    [this](const absl::StatusOr<ReloadOutcome>& outcome) {
                      gateway_->Invalidate();
                      if (outcome.ok() && outcome->problems.empty()) RefreshModules();
                      if (!outcome.ok())
                        log_.Error("reload", {{"text", AsStd(outcome.status().message())}});
                    });
}

void Supervisor::ReportReadyOnce() {
  if (ready_reported_ || admin_ == nullptr || !pool_->settled()) return;
  ready_reported_ = true;
  if (!ready_after_) {
    ready_after_ = SystemClock().Steady() - SteadyTime{inheritance_.keeper_start_ns};
    keeper_->Hold(kReadyEntry, absl::StrCat(absl::ToInt64Nanoseconds(*ready_after_)), {},
                  [this](const absl::Status& held) {
                    if (held.ok()) return;
                    log_.Warning("the keeper does not hold " + std::string(kReadyEntry),
                                 {{"text", AsStd(held.message())}});
                  });
  }
  settle_timer_.Start(kSettleTime, ReleaseStartupPages);
  gateway_->Invalidate();
  keeper_->ReportReady(ReadyLine(*BuildSnapshot(), host_.admin.path));
}

// Not a whole snapshot: for a thousand services that takes longer than measuring.
HostSnapshot Supervisor::Processes() {
  HostSnapshot processes;
  processes.keeper_pid = getppid();
  processes.supervisor_pid = getpid();
  pool_->FillSnapshot(processes);
  return processes;
}

void Supervisor::RefreshModules() {
  for (const ListedFile& listed : modules_) {
    for (const std::string& service : listed.services) {
      if (!deployer_->prepared().services.contains(service)) store_->SetUses(service, {});
    }
  }
  for (const auto& [name, service] : deployer_->prepared().services) {
    store_->SetUses(name, StoredHashesOf(service));
  }
  ListModules();
  store_timer_.Start(kCollectDelay, [this] { CollectModules(); });
}

void Supervisor::CollectModules() {
  deployer_->MaintainStore(
      /*check=*/false, /*collect=*/true, [this](const absl::StatusOr<StoreOutcome>& outcome) {
        if (outcome.ok() && !outcome->collection.removed.empty()) {
          return ListModules();
        }
        if (outcome.ok()) return;
        log_.Warning("module store", {{"text", AsStd(outcome.status().message())}});
      });
}

void Supervisor::ListModules() {
  boost::asio::post(disk_, [this] {
    auto listed = store_->List();
    boost::asio::post(loop_, [this, listed = std::move(listed)]() mutable {
      if (listed.ok()) {
        modules_ = *std::move(listed);
        AddTreeSources(deployer_->prepared(), modules_);
      } else {
        log_.Warning("module store", {{"text", AsStd(listed.status().message())}});
      }
    });
  });
}

void Supervisor::OnPoolEvent(const PoolEvent& event) { events_->Record(event); }

void Supervisor::OnPoolChanged() {
  // Not before Deploy is done: the pool speaks up while it adopts and applies.
  if (gateway_ == nullptr) return;
  gateway_->Invalidate();
  ReportReadyOnce();
  // Not now: the pool is in the middle of its turn.
  if (!rollout_timer_.running()) {
    rollout_timer_.Start(absl::ZeroDuration(), [this] { deployer_->LookAtRollouts(); });
  }
}

std::shared_ptr<const HostSnapshot> Supervisor::BuildSnapshot() {
  auto snapshot = std::make_shared<HostSnapshot>();
  snapshot->started = started_;
  snapshot->deployment_file = options_.deployment_file;
  snapshot->keeper_pid = getppid();
  snapshot->supervisor_pid = getpid();
  snapshot->supervisor_restarts = inheritance_.supervisor_restarts;
  snapshot->ready_after = ready_after_;
  if (host_.metrics) {
    const Listener* listener = FindListener(*host_.metrics, kMetricsListener);
    if (listener != nullptr) snapshot->metrics_address = listener->address.text + "/metrics";
  }
  FillDeployment(*deployer_, *listeners_, modules_, *snapshot);
  pool_->FillSnapshot(*snapshot);
  meter_->Fill(*snapshot);
  snapshot->events_dropped = state_->dropped_events();
  if (admin_ != nullptr) snapshot->accept_errors = admin_->accept_errors();
  return snapshot;
}

void Supervisor::Reload(const Caller& caller, ChangeAction action,
                        std::function<void(absl::StatusOr<ReloadOutcome>)> done) {
  deployer_->Reload(caller, action,
                    [this, done = std::move(done)](absl::StatusOr<ReloadOutcome> outcome) {
                      gateway_->Invalidate();
                      if (outcome.ok() && outcome->problems.empty()) RefreshModules();
                      done(std::move(outcome));
                    });
}

void Supervisor::Recycle(const Caller& caller, const std::string& group,
                         std::optional<uint32_t> slot,
                         std::function<void(absl::StatusOr<RecycleOutcome>)> done) {
  if (absl::Status status = deployer_->CheckRevision(caller); !status.ok()) return done(status);
  const absl::Status begun =
      pool_->Recycle(group, slot, RecycleReason::kOperator,
                     [done](std::vector<std::string> recycled, std::vector<std::string> failed) {
                       done(RecycleOutcome{std::move(recycled), std::move(failed)});
                     });
  if (!begun.ok()) done(begun);
}

void Supervisor::StopService(const Caller& caller, const std::string& name,
                             std::function<void(absl::StatusOr<uint64_t>)> done) {
  deployer_->StopService(caller, name, std::move(done));
  gateway_->Invalidate();
}

void Supervisor::StartService(const Caller& caller, const std::string& name,
                              std::function<void(absl::StatusOr<uint64_t>)> done) {
  deployer_->StartService(caller, name, std::move(done));
  gateway_->Invalidate();
}

void Supervisor::Deploy(const Caller& caller, DeployRequest request,
                        std::function<void(absl::StatusOr<DeployOutcome>)> done) {
  deployer_->Deploy(caller, std::move(request), AfterChange(std::move(done)));
}

void Supervisor::Rollback(const Caller& caller, RollbackRequest request,
                          std::function<void(absl::StatusOr<DeployOutcome>)> done) {
  deployer_->Rollback(caller, std::move(request), AfterChange(std::move(done)));
}

std::function<void(absl::StatusOr<DeployOutcome>)> Supervisor::AfterChange(
    std::function<void(absl::StatusOr<DeployOutcome>)> done) {
  return [this, done = std::move(done)](absl::StatusOr<DeployOutcome> outcome) {
    gateway_->Invalidate();
    // Also after a failure: one that came while others were waited for has changed something.
    if (!outcome.ok() || outcome->changed) RefreshModules();
    done(std::move(outcome));
  };
}

void Supervisor::ReadHistory(const std::string& service, uint32_t limit,
                             std::function<void(absl::StatusOr<HistoryView>)> done) {
  deployer_->ReadHistory(service, limit, std::move(done));
}

void Supervisor::ExportDeployment(std::function<void(absl::StatusOr<DeploymentExport>)> done) {
  if (absl::Status status = CheckExportable(deployer_->prepared()); !status.ok()) {
    return done(status);
  }
  auto exported = std::make_shared<DeploymentExport>(
      DescribeDeployment(deployer_->prepared(), deployer_->text()));
  exported->revision = deployer_->revision();
  exported->port_offset = options_.load_options.port_offset;
  boost::asio::post(disk_, [this, exported, done = std::move(done)] {
    absl::Status added = AddSignatures(store_->folder(), *exported);
    boost::asio::post(loop_, [exported, done, added = std::move(added)] {
      added.ok() ? done(std::move(*exported)) : done(added);
    });
  });
}

void Supervisor::MaintainStore(const Caller& caller, bool check, bool collect,
                               std::function<void(absl::StatusOr<StoreOutcome>)> done) {
  if (absl::Status status = deployer_->CheckRevision(caller); !status.ok()) return done(status);
  deployer_->MaintainStore(check, collect,
                           [this, done = std::move(done)](absl::StatusOr<StoreOutcome> outcome) {
                             ListModules();
                             done(std::move(outcome));
                           });
}

void Supervisor::Plan(std::string text, std::string file_name,
                      std::function<void(absl::StatusOr<PlanOutcome>)> done) {
  boost::asio::post(disk_, [this, text = std::move(text), file_name = std::move(file_name),
                            record = deployer_->placement().record, done = std::move(done)] {
    PlanOutcome outcome = PlanDeployment(
        {options_.deployment_file, options_.load_options, as_root_}, text, file_name, record);
    boost::asio::post(loop_, [done, outcome = std::move(outcome)] { done(outcome); });
  });
}

void Supervisor::Validate(std::string text, std::string file_name,
                          std::function<void(std::vector<ConfigProblem>, uint32_t)> done) {
  boost::asio::post(disk_, [this, text = std::move(text), file_name = std::move(file_name),
                            done = std::move(done)] {
    const LoadResult loaded =
        text.empty()
            ? LoadDeployment(options_.deployment_file, options_.load_options)
            : ParseDeployment(text, file_name.empty() ? options_.deployment_file : file_name,
                              options_.load_options);
    const auto services =
        static_cast<uint32_t>(loaded.deployment ? loaded.deployment->services.size() : 0);
    boost::asio::post(loop_, [done, services, problems = ToProblems(loaded.errors)] {
      done(problems, services);
    });
  });
}

void Supervisor::MeasureMemory(
    MemoryDepth depth,
    std::function<void(absl::StatusOr<std::shared_ptr<const HostSnapshot>>)> done) {
  meter_->Measure(depth, [this, done = std::move(done)](const absl::Status& measured) {
    if (!measured.ok()) return done(measured);
    done(BuildSnapshot());
  });
}

void Supervisor::MeasureUnshared(const Caller& caller, uint32_t samples,
                                 std::function<void(absl::StatusOr<UnsharedMemory>)> done) {
  // It starts processes: told before what they do.
  HostEvent event;
  event.kind = "memory_sample";
  event.uid = caller.uid;
  event.message = absl::StrCat("at most ", samples, " services, each in a worker of its own");
  events_->Record(std::move(event));
  ServiceIds ids = deployer_->ids();
  unshared_->Measure(MakePoolTarget(deployer_->prepared(), deployer_->placement(),
                                    deployer_->stopped(), *listeners_, ids),
                     samples, std::move(done));
}

void Supervisor::Record(HostEvent event) { events_->Record(std::move(event)); }

void Supervisor::ReadEvents(uint64_t after_id, uint32_t last, uint32_t limit,
                            std::function<void(absl::StatusOr<std::vector<HostEvent>>)> done) {
  const auto read = [this, done = std::move(done)](absl::StatusOr<std::vector<HostEvent>> events) {
    boost::asio::post(loop_, [done, events = std::move(events)] { done(events); });
  };
  if (last > 0) {
    state_->ReadLastEvents(last, read);
  } else {
    state_->ReadEventsAfter(after_id, limit, read);
  }
}

uint64_t Supervisor::SubscribeEvents(std::function<void(const HostEvent&)> event) {
  return events_->Subscribe(std::move(event));
}

void Supervisor::UnsubscribeEvents(uint64_t subscription) { events_->Unsubscribe(subscription); }

}  // namespace cohost::supervisor
