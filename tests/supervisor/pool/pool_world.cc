// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/pool/pool_world.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {

PoolWorld::PoolWorld() {
  settings.worker_program = "/usr/libexec/cohost-worker";
  settings.binary_id = "build-1";
  settings.log_folder = folder_.path();
  settings.worker_folders = folder_ / "workers";
  settings.environment = {"PATH=/usr/bin", "LANG=C.UTF-8"};
  Begin();
}

PoolWorld::~PoolWorld() = default;

void PoolWorld::Begin() {
  pool_ = std::make_unique<Pool>(
      PoolParts{loop_, time, time, workers, holder, workers, *this, settings});
  Inheritance inheritance;
  inheritance.held = holder.CopyAll();
  for (const std::string& name : workers.Names()) {
    RunningProcess process;
    process.name = name;
    process.pid = 77;
    inheritance.processes.push_back(std::move(process));
  }
  workers.OnExit([this](const ExitRecord& record) {
    if (pool_ != nullptr) pool_->HandleExit(record);
  });
  const absl::Status adopted = pool_->Adopt(inheritance);
  EXPECT_TRUE(adopted.ok()) << adopted;
}

bool PoolWorld::Step() {
  bool happened = loop_.poll() > 0;
  loop_.restart();
  holder.RunCallbacks();
  happened |= workers.Run();
  happened |= time.RunDue();
  return happened;
}

void PoolWorld::Settle() {
  // Far more than any of these tests takes; one that runs in circles fails instead of hanging.
  for (int round = 0, quiet = 0; quiet < 3; ++round) {
    quiet = Step() ? 0 : quiet + 1;
    if (round == 20'000) return ADD_FAILURE() << "it never comes to rest";
  }
}

void PoolWorld::Pass(absl::Duration duration) {
  const SteadyTime end = time.Steady() + duration;
  Settle();
  while (time.Steady() < end) {
    time.Pass(std::min(end - time.Steady(), time.UntilNext()));
    Settle();
  }
}

std::shared_ptr<ServiceTarget> PoolWorld::Service(uint64_t id, uint64_t revision) {
  UniqueFd& listener = listeners_[id];
  // Any socket will do: only its identity is looked at.
  if (!listener.valid()) listener.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto service = std::make_shared<ServiceTarget>();
  service->id = id;
  service->revision = revision;
  service->name = absl::StrCat("s", id);
  service->module_path = absl::StrCat("/store/", id, "-", revision);
  service->listeners.push_back({absl::StrCat("http://127.0.0.1:", 8000 + id), listener.get()});
  return service;
}

GroupTarget PoolWorld::Group(const std::string& name,
                             std::vector<std::shared_ptr<const ServiceTarget>> services,
                             uint32_t workers) {
  GroupTarget group;
  group.name = name;
  group.policy.workers = workers;
  group.services = std::move(services);
  return group;
}

void PoolWorld::Apply(std::vector<GroupTarget> groups) {
  pool_->Apply(PoolTarget{std::move(groups)});
  Settle();
}

HostSnapshot PoolWorld::Snapshot() {
  HostSnapshot snapshot;
  for (const auto& [id, listener] : listeners_) {
    ServiceView service;
    service.id = id;
    snapshot.services.push_back(service);
  }
  GroupView group;
  group.name = "g";
  snapshot.groups.push_back(group);
  pool_->FillSnapshot(snapshot);
  return snapshot;
}

ServiceView PoolWorld::ServiceOf(uint64_t id) {
  for (const ServiceView& service : Snapshot().services) {
    if (service.id == id) return service;
  }
  ADD_FAILURE() << "no service " << id;
  return {};
}

std::vector<std::string> PoolWorld::States() {
  std::vector<std::string> states;
  for (const WorkerView& worker : Snapshot().workers) {
    states.push_back(absl::StrCat(worker.group, "/", worker.slot, "/", worker.generation, " ",
                                  Name(worker.status)));
  }
  return states;
}

bool PoolWorld::Told(const std::string& kind, const std::string& part) const {
  for (const PoolEvent& event : events) {
    if (event.kind == kind && event.message.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace cohost::supervisor
