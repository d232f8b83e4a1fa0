// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/host_control.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace cohost::supervisor {
namespace {

// 2026-01-02T03:04:05Z.
const absl::Time kStarted = absl::FromUnixSeconds(1767323045);

ServiceView MakeService(const std::string& name, const std::string& group, LoadClass load_class,
                        uint16_t port) {
  ServiceView service;
  service.name = name;
  service.group = group;
  service.load_class = load_class;
  service.revision = 3;
  service.status = ServiceStatus::kReady;
  service.addresses = {absl::StrCat("http://127.0.0.1:", port)};
  service.module_path = "/var/lib/cohost/modules/3f/catalog.so";
  service.module_hash = std::string(64, '3');
  service.warmup = absl::Microseconds(1240);
  service.ready_workers = service.workers = 1;
  service.backlog = 1024;
  return service;
}

WorkerView MakeWorker(const std::string& group, uint32_t slot, pid_t pid,
                      std::vector<std::string> services) {
  WorkerView worker;
  worker.group = group;
  worker.slot = slot;
  worker.generation = 1;
  worker.pid = pid;
  worker.status = WorkerStatus::kReady;
  worker.started = kStarted;
  worker.services = std::move(services);
  worker.memory = {Bytes{1'830'000}, Bytes{1'200'000}, Bytes{900'000}};
  worker.cpu = absl::Milliseconds(2350);
  worker.threads = 7;
  worker.requests = 1000;
  worker.ready_after = absl::Milliseconds(9);
  worker.log_file = absl::StrCat("/var/lib/cohost/logs/", group, "-", slot, ".log");
  return worker;
}

void CountRequests(ServiceView& service, uint64_t good, uint64_t failed) {
  service.totals.started = service.totals.finished = good + failed;
  service.totals.answered[2] = good;
  service.totals.answered[5] = failed;
  service.totals.latency[0] = good;
  service.totals.latency[4] = failed;
  service.totals.latency_sum_ns = good * 300'000 + failed * 8'000'000;
}

void AddGroup(HostSnapshot& host, const std::string& name, bool declared, uint32_t workers) {
  GroupView group;
  group.name = name;
  group.declared = declared;
  group.workers = group.workers_ready = workers;
  group.user = "cohost";
  for (const ServiceView& service : host.services) {
    if (service.group == name) group.services.push_back(service.name);
  }
  host.groups.push_back(std::move(group));
}

// Made by the same sums as the real one; of the image only a part was looked at.
std::shared_ptr<const MemoryReport> SampleReport() {
  const std::string catalog(64, '3');
  const std::string rates(64, 'a');
  MemoryInput input;
  input.files[{8, 1, 3}] = {catalog, {12'000}};
  input.files[{8, 1, 10}] = {rates, {0}};
  for (const char* service : {"catalog", "currency", "invoices", "orders", "search"}) {
    input.uses[service] = {catalog};
  }
  input.uses["currency"].push_back(rates);
  const auto add = [&](const std::string& name, std::vector<std::string> services) {
    MeasuredProcess& process = input.processes.emplace_back();
    process.name = name;
    process.services = std::move(services);
    process.maps.files[{8, 1, 3}] = {"", {368'000}, {340'000}, {0}, {28'000}, {113'000}, {8'000}};
  };
  add("worker/batch-1/0/4", {"invoices"});
  add("worker/front/0/1", {"orders", "search"});
  add("worker/front/1/1", {"orders", "search"});
  add("worker/steady-1/0/1", {"catalog", "currency"});
  input.processes.back().maps.files[{8, 1, 10}] = {"",  {2'500'000}, {0}, {2'500'000},
                                                   {0}, {2'500'000}, {0}};
  MemoryReport report = AttributeMemory(input);
  report.measured = kStarted + absl::Minutes(1);
  return std::make_shared<const MemoryReport>(std::move(report));
}

}  // namespace

HostSnapshot SampleHost() {
  HostSnapshot host;
  host.revision = 3;
  host.started = kStarted;
  host.deployment_file = "/etc/cohost/deployment.yaml";
  host.runtime_dir = "/run/cohost";
  host.state_dir = "/var/lib/cohost";
  host.metrics_address = "http://127.0.0.1:9464/metrics";
  host.keeper_pid = 100;
  host.supervisor_pid = 101;
  host.ready_after = absl::Milliseconds(63);
  host.remarks = {"no writable cgroup: limits.memory is measured, not enforced"};
  host.services.push_back(MakeService("catalog", "steady-1", LoadClass::kSteady, 8101));
  host.services.push_back(MakeService("currency", "steady-1", LoadClass::kSteady, 8102));
  host.services.push_back(MakeService("invoices", "batch-1", LoadClass::kBatch, 8103));
  host.services.push_back(MakeService("orders", "front", LoadClass::kLatency, 8104));
  host.services.push_back(MakeService("search", "front", LoadClass::kLatency, 8105));
  CountRequests(host.services[0], 1'234'567, 3);
  CountRequests(host.services[1], 1000, 0);
  host.services[0].description = "Prices of \"everything\"";
  host.services[0].in_flight = 2;
  host.services[2].status = ServiceStatus::kFailed;
  host.services[2].reason = "died while loading: signal 11 (SIGSEGV)";
  host.services[2].ready_workers = 0;
  host.services[3].workers = host.services[3].ready_workers = 2;
  host.services[4].workers = host.services[4].ready_workers = 2;
  AddGroup(host, "batch-1", false, 1);
  AddGroup(host, "front", true, 2);
  AddGroup(host, "steady-1", false, 1);
  host.workers.push_back(MakeWorker("batch-1", 0, 201, {"invoices"}));
  host.workers.push_back(MakeWorker("front", 0, 202, {"orders", "search"}));
  host.workers.push_back(MakeWorker("front", 1, 203, {"orders", "search"}));
  host.workers.push_back(MakeWorker("steady-1", 0, 204, {"catalog", "currency"}));
  host.workers[0].generation = 4;
  host.workers[0].restarts[static_cast<size_t>(RecycleReason::kCrash)] = 3;
  host.workers[0].last_reason = RecycleReason::kCrash;
  host.workers[0].last_exit = "signal 11 (SIGSEGV)";
  host.modules.push_back({std::string(64, '3'),
                          "/var/lib/cohost/modules/3f/catalog.so",
                          Bytes{412'000},
                          "/opt/shop/catalog.so",
                          {"catalog", "currency", "invoices", "orders", "search"},
                          "module",
                          kStarted - absl::Hours(50)});
  host.modules.push_back({std::string(64, 'a'),
                          "/var/lib/cohost/modules/aa/rates.img",
                          Bytes{31'400'000},
                          "/opt/shop/rates.img",
                          {"currency"},
                          "data image",
                          kStarted});
  host.module_memory = SampleReport();
  host.supervisor_memory = {Bytes{7'600'000}, Bytes{6'900'000}, Bytes{5'000'000}};
  host.keeper_memory = {Bytes{910'000}, Bytes{420'000}, Bytes{300'000}};
  host.supervisor_cpu = absl::Milliseconds(840);
  host.keeper_cpu = absl::Milliseconds(12);
  return host;
}

HostSnapshot LargeHost(size_t services) {
  HostSnapshot host = SampleHost();
  host.services.clear();
  host.groups.clear();
  host.workers.clear();
  for (size_t i = 0; i < services; ++i) {
    host.services.push_back(MakeService(absl::StrFormat("service-%05u", i),
                                        absl::StrFormat("steady-%04u", i / 16), LoadClass::kSteady,
                                        static_cast<uint16_t>(10000 + i)));
    CountRequests(host.services.back(), i * 1000, i);
  }
  for (size_t first = 0; first < services; first += 16) {
    GroupView group;
    group.name = host.services[first].group;
    group.workers = group.workers_ready = 1;
    for (size_t i = first; i < std::min(first + 16, services); ++i) {
      group.services.push_back(host.services[i].name);
    }
    host.workers.push_back(
        MakeWorker(group.name, 0, static_cast<pid_t>(1000 + first), group.services));
    host.groups.push_back(std::move(group));
  }
  return host;
}

FakeHostControl::FakeHostControl(HostSnapshot snapshot)
    : snapshot_(std::make_shared<const HostSnapshot>(std::move(snapshot))),
      loop_([this] { Run(); }) {}

FakeHostControl::~FakeHostControl() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  loop_.join();
}

void FakeHostControl::Post(std::function<void()> work) {
  MutexLock lock(mutex_);
  work_.push_back(std::move(work));
  changed_.NotifyAll();
}

void FakeHostControl::Run() {
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(mutex_);
      while (work_.empty() && !stopping_) changed_.Wait(mutex_);
      if (work_.empty()) return;
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }
}

std::shared_ptr<const HostSnapshot> FakeHostControl::snapshot() const {
  MutexLock lock(mutex_);
  return snapshot_;
}

void FakeHostControl::Change(const std::function<void(HostSnapshot&)>& change) {
  MutexLock lock(mutex_);
  HostSnapshot next = *snapshot_;
  change(next);
  snapshot_ = std::make_shared<const HostSnapshot>(std::move(next));
}

uint64_t FakeHostControl::EmitOnLoop(HostEvent event) {
  std::vector<std::function<void(const HostEvent&)>> subscribers;
  {
    MutexLock lock(mutex_);
    event.id = events_.size() + 1;
    event.time = kStarted + absl::Seconds(event.id);
    events_.push_back(event);
    for (const auto& [id, subscriber] : subscribers_) subscribers.push_back(subscriber);
  }
  for (const auto& subscriber : subscribers) subscriber(event);
  return event.id;
}

void FakeHostControl::Record(HostEvent event) {
  Post([this, event = std::move(event)]() mutable { EmitOnLoop(std::move(event)); });
}

uint64_t FakeHostControl::Emit(HostEvent event) {
  Mutex mutex;
  CondVar emitted;
  uint64_t id = 0;
  Post([&] {
    const uint64_t got = EmitOnLoop(std::move(event));
    MutexLock lock(mutex);
    id = got;
    emitted.NotifyAll();
  });
  MutexLock lock(mutex);
  while (id == 0) emitted.Wait(mutex);
  return id;
}

void FakeHostControl::SetProblems(std::vector<ConfigProblem> problems) {
  MutexLock lock(mutex_);
  problems_ = std::move(problems);
}

void FakeHostControl::Hang() {
  MutexLock lock(mutex_);
  hanging_ = true;
}

std::vector<std::string> FakeHostControl::calls() const {
  MutexLock lock(mutex_);
  return calls_;
}

size_t FakeHostControl::subscribers() const {
  MutexLock lock(mutex_);
  return subscribers_.size();
}

void FakeHostControl::Mutate(const std::string& call, const Caller& caller,
                             std::function<void()> work) {
  {
    MutexLock lock(mutex_);
    calls_.push_back(absl::StrCat(call, " uid=", caller.uid, " id=", caller.request_id));
    if (hanging_) return;
  }
  Post(std::move(work));
}

void FakeHostControl::Reload(Caller caller, ChangeAction action,
                             std::function<void(absl::StatusOr<ReloadOutcome>)> done) {
  Mutate(std::string(Name(action)), caller, [this, done = std::move(done), uid = caller.uid] {
    ReloadOutcome outcome;
    {
      MutexLock lock(mutex_);
      outcome.problems = problems_;
    }
    if (outcome.problems.empty()) {
      Change([](HostSnapshot& host) { ++host.revision; });
      outcome.added = {"billing"};
      outcome.changed = {"catalog"};
      HostEvent event;
      event.kind = "deployment_applied";
      event.uid = uid;
      EmitOnLoop(std::move(event));
    }
    outcome.revision = snapshot()->revision;
    done(std::move(outcome));
  });
}

void FakeHostControl::ExportDeployment(std::function<void(absl::StatusOr<DeploymentExport>)> done) {
  Post([this, done = std::move(done)] {
    const auto host = snapshot();
    DeploymentExport exported;
    exported.revision = host->revision;
    exported.text = "version: 1\n";
    const std::string module(64, '3');
    exported.files.push_back(
        {{module, "/store/" + module + ".so", Bytes{12}, StoredKind::kModule, {}}, "signed"});
    const std::string image(64, 'a');
    exported.files.push_back(
        {{image, "/store/" + image + ".img", Bytes{34}, StoredKind::kDataImage, {}}, ""});
    for (const ServiceView& service : host->services) {
      exported.uses.push_back({service.name, "", module, "/srv/catalog.so"});
    }
    exported.uses.push_back({host->services.back().name, "rates", image, "/srv/rates.img"});
    done(std::move(exported));
  });
}

void FakeHostControl::Recycle(Caller caller, std::string group, std::optional<uint32_t> slot,
                              std::function<void(absl::StatusOr<RecycleOutcome>)> done) {
  const std::string call =
      slot ? absl::StrCat("recycle ", group, "/", *slot) : absl::StrCat("recycle ", group);
  Mutate(call, caller, [this, group = std::move(group), slot, done = std::move(done)] {
    RecycleOutcome outcome;
    Change([&](HostSnapshot& host) {
      for (WorkerView& worker : host.workers) {
        if (worker.group != group || (slot && worker.slot != *slot)) continue;
        ++worker.generation;
        outcome.recycled.push_back(absl::StrCat(worker.group, "/", worker.slot));
      }
    });
    done(std::move(outcome));
  });
}

absl::StatusOr<uint64_t> FakeHostControl::SetStopped(const Caller& caller, const std::string& name,
                                                     bool stopped) {
  bool found = false;
  Change([&](HostSnapshot& host) {
    for (ServiceView& service : host.services) {
      if (service.name != name) continue;
      found = true;
      service.stopped_by_operator = stopped;
      service.status = stopped ? ServiceStatus::kStopped : ServiceStatus::kReady;
    }
  });
  if (!found) return absl::NotFoundError(absl::StrCat("no service '", name, "'"));
  HostEvent event;
  event.kind = stopped ? "operator_stop" : "operator_start";
  event.service = name;
  event.uid = caller.uid;
  return EmitOnLoop(std::move(event));
}

void FakeHostControl::StopService(Caller caller, std::string name,
                                  std::function<void(absl::StatusOr<uint64_t>)> done) {
  Mutate(absl::StrCat("stop ", name), caller, [this, caller, name, done = std::move(done)] {
    done(SetStopped(caller, name, /*stopped=*/true));
  });
}

void FakeHostControl::StartService(Caller caller, std::string name,
                                   std::function<void(absl::StatusOr<uint64_t>)> done) {
  Mutate(absl::StrCat("start ", name), caller, [this, caller, name, done = std::move(done)] {
    done(SetStopped(caller, name, /*stopped=*/false));
  });
}

void FakeHostControl::Deploy(Caller caller, DeployRequest request,
                             std::function<void(absl::StatusOr<DeployOutcome>)> done) {
  const std::string call =
      absl::StrCat("deploy ", request.service, " ", request.path, " wait=", request.wait,
                   " canary=", absl::FormatDuration(request.canary_time));
  Mutate(call, caller, [this, request = std::move(request), done = std::move(done)] {
    if (request.path.find("sick") != std::string::npos) {
      return done(absl::FailedPreconditionError("the canary did not become ready"));
    }
    DeployOutcome outcome;
    outcome.service = request.service;
    if (request.path.find("wrong") != std::string::npos) {
      outcome.problems = {{"", 0, 0, "services." + request.service + ".module", "it is cut"}};
    } else {
      outcome.changed = !request.path.empty();
      Change([&](HostSnapshot& host) {
        if (outcome.changed) ++host.revision;
        for (ServiceView& service : host.services) {
          if (service.name != request.service) continue;
          outcome.module_before = service.module_hash;
          if (outcome.changed) service.module_hash = std::string(64, 'd');
          outcome.module_after = service.module_hash;
        }
      });
      if (request.wait) outcome.serving = {"steady-1/0"};
      outcome.remarks = {"a warning of the module"};
    }
    outcome.revision = snapshot()->revision;
    done(std::move(outcome));
  });
}

void FakeHostControl::Rollback(Caller caller, RollbackRequest request,
                               std::function<void(absl::StatusOr<DeployOutcome>)> done) {
  const std::string call =
      absl::StrCat("rollback ", request.service, " to=", request.revision, " wait=", request.wait);
  Mutate(call, caller, [this, request = std::move(request), done = std::move(done)] {
    Change([](HostSnapshot& host) { ++host.revision; });
    DeployOutcome outcome;
    outcome.changed = true;
    outcome.service = request.service;
    outcome.restored = request.revision == 0 ? 1 : request.revision;
    outcome.module_before = std::string(64, 'b');
    outcome.module_after = std::string(64, 'a');
    outcome.revision = snapshot()->revision;
    done(std::move(outcome));
  });
}

void FakeHostControl::ReadHistory(std::string service, uint32_t limit,
                                  std::function<void(absl::StatusOr<HistoryView>)> done) {
  Post([this, service = std::move(service), limit, done = std::move(done)] {
    HistoryView view;
    view.current = snapshot()->revision;
    for (uint64_t number = 2; number >= 1 && 2 - number < limit; --number) {
      StateRevision revision;
      revision.revision = number;
      revision.applied = absl::FromUnixSeconds(1'700'000'000 + static_cast<int64_t>(number));
      revision.action = number == 1 ? ChangeAction::kStart : ChangeAction::kDeploy;
      if (number > 1) revision.uid = 1000;
      revision.summary = "1 changed";
      if (service.empty()) {
        view.revisions.push_back(revision);
        continue;
      }
      ServiceChange change;
      change.service = service;
      change.revision = number;
      change.files.module = std::string(64, number == 1 ? 'a' : 'b');
      change.source = absl::StrCat("/srv/", service, ".so");
      change.action = revision.action;
      change.time = revision.applied;
      change.uid = revision.uid;
      view.changes.push_back(std::move(change));
    }
    if (!service.empty()) view.held_since = 2;
    done(std::move(view));
  });
}

void FakeHostControl::MaintainStore(Caller caller, bool check, bool collect,
                                    std::function<void(absl::StatusOr<StoreOutcome>)> done) {
  Mutate(absl::StrCat("maintain check=", check, " collect=", collect), caller,
         [check, collect, done = std::move(done)] {
           StoreOutcome outcome;
           if (check) {
             outcome.check.files = 3;
             outcome.check.size = MiB(2);
             outcome.check.foreign = {"README"};
           }
           if (collect) {
             outcome.collection.removed.resize(2);
             outcome.collection.freed = MiB(1);
           }
           done(std::move(outcome));
         });
}

void FakeHostControl::Plan(std::string text, std::string file_name,
                           std::function<void(absl::StatusOr<PlanOutcome>)> done) {
  Validate(std::move(text), std::move(file_name),
           [this, done = std::move(done)](std::vector<ConfigProblem> problems, uint32_t) {
             PlanOutcome outcome;
             outcome.problems = std::move(problems);
             if (outcome.problems.empty()) {
               for (const GroupView& group : snapshot()->groups) {
                 PlannedGroupView planned;
                 planned.name = group.name;
                 planned.declared = group.declared;
                 planned.workers = group.workers;
                 for (const std::string& service : group.services) {
                   planned.services.emplace_back(service, "class and peak hours fit");
                 }
                 planned.memory = MiB(8);
                 planned.peak_cpu = 0.25;
                 planned.reason = "closed by max_services_per_worker";
                 outcome.groups.push_back(std::move(planned));
               }
               outcome.moved = {"search"};
             }
             done(std::move(outcome));
           });
}

void FakeHostControl::Validate(
    std::string text, std::string file_name,
    std::function<void(std::vector<ConfigProblem>, uint32_t services)> done) {
  Post([this, text = std::move(text), file_name = std::move(file_name), done = std::move(done)] {
    std::vector<ConfigProblem> problems;
    {
      MutexLock lock(mutex_);
      problems = problems_;
    }
    if (text.find("wrong") != std::string::npos || file_name.find("wrong") != std::string::npos) {
      problems.push_back({file_name.empty() ? "deployment.yaml" : file_name, 4, 11,
                          "services[0].limits.memory",
                          "'wrong' is no size; a whole number with Ki, Mi or Gi, as in 32Mi"});
    }
    done(std::move(problems), problems.empty() ? 5 : 0);
  });
}

void FakeHostControl::MeasureMemory(
    MemoryDepth depth,
    std::function<void(absl::StatusOr<std::shared_ptr<const HostSnapshot>>)> done) {
  Post([this, depth, done = std::move(done)] {
    if (depth == MemoryDepth::kModules && snapshot()->module_memory == nullptr) {
      return done(absl::ResourceExhaustedError("too many measurements wait already"));
    }
    done(snapshot());
  });
}

void FakeHostControl::MeasureUnshared(Caller caller, uint32_t samples,
                                      std::function<void(absl::StatusOr<UnsharedMemory>)> done) {
  Mutate(absl::StrCat("unshared ", samples), caller, [this, samples, done = std::move(done)] {
    const std::vector<ServiceView> services = snapshot()->services;
    UnsharedMemory memory;
    for (uint32_t i = 0; i < std::min<size_t>(samples, services.size()); ++i) {
      UnsharedSample& sample = memory.samples.emplace_back();
      sample.service = services[i].name;
      if (i == 1) {
        sample.status = absl::AbortedError("its worker has ended: exit code 3");
        continue;
      }
      sample.own = 900'000 + i * 100'000;
      sample.files = 4'000'000;
    }
    memory.services = static_cast<uint32_t>(services.size());
    memory.workers = 4;
    memory.present = 7'320'000;
    ScaleUnshared({{{8, 1, 3}, 3'500'000}, {{8, 1, 4}, 1'000'000}}, memory);
    done(std::move(memory));
  });
}

void FakeHostControl::ReadEvents(uint64_t after_id, uint32_t last, uint32_t limit,
                                 std::function<void(absl::StatusOr<std::vector<HostEvent>>)> done) {
  Post([this, after_id, last, limit, done = std::move(done)] {
    std::vector<HostEvent> events;
    {
      MutexLock lock(mutex_);
      for (const HostEvent& event : events_) {
        if (event.id > after_id) events.push_back(event);
      }
    }
    if (last > 0 && events.size() > last) {
      events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(last));
    }
    if (events.size() > limit) events.resize(limit);
    done(std::move(events));
  });
}

std::function<void()> FakeHostControl::SubscribeEvents(
    std::function<void(const HostEvent&)> event) {
  MutexLock lock(mutex_);
  const uint64_t id = next_subscriber_++;
  subscribers_[id] = std::move(event);
  return [this, id] {
    MutexLock lock(mutex_);
    subscribers_.erase(id);
  };
}

}  // namespace cohost::supervisor
