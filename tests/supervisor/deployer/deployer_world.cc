// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/deployer/deployer_world.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "boost/asio/post.hpp"
#include "supervisor/config/deployment_loader.h"
#include "tests/support/wait.h"

namespace cohost::supervisor {
DeployerWorld::DeployerWorld()
    : nowhere_(open("/dev/null", O_WRONLY | O_CLOEXEC)), log_(nowhere_.get(), "supervisor") {
  for (const char* name : {"run", "state", "logs"}) mkdir((folder / name).c_str(), 0755);
  settings.deployment_file = folder / "d.yaml";
  WriteModule("echo");
  workers.OnExit([this](const ExitRecord& record) {
    if (pool_ != nullptr) pool_->HandleExit(record);
  });
  Build();
}

void DeployerWorld::Build() {
  state_ = State::Open(StateFile());
  event_log_ = std::make_unique<EventLog>(*state_.state, log_, time);
  event_log_->Subscribe([this](const HostEvent& event) { events.push_back(event); });
  store_ = ModuleStore::Open({.folder = folder / "state/modules"}, &state_.notices).value();
  listeners_ = std::make_unique<ListenerSet>(holder);
  Inheritance inheritance;
  std::vector<HeldEntry> sockets;
  std::vector<HeldEntry> held = holder.CopyAll();
  for (HeldEntry& entry : held) {
    (entry.name.starts_with("listener/") ? sockets : inheritance.held).push_back(std::move(entry));
  }
  listeners_->Inherit(std::move(sockets));
  for (const std::string& name : workers.Names()) {
    RunningProcess process;
    process.name = name;
    process.pid = 77;
    inheritance.processes.push_back(std::move(process));
  }
  PoolSettings pool;
  pool.worker_program = "/usr/libexec/cohost-worker";
  pool.log_folder = folder / "logs";
  pool_ = std::make_unique<Pool>(
      PoolParts{loop_, time, time, workers, holder, workers, *this, std::move(pool)});
  EXPECT_TRUE(pool_->Adopt(inheritance).ok());
}

void DeployerWorld::Restart() {
  EXPECT_TRUE(state_.state->Close(cohost::testing::kPatience).ok());
  // Answers of the state that are on their way.
  loop_.restart();
  loop_.poll();
  deployer_.reset();
  pool_.reset();
  listeners_.reset();
  event_log_.reset();
  events.clear();
  Build();
}

State::Options DeployerWorld::StateFile() const {
  State::Options options;
  options.path = folder / "state/state.db";
  return options;
}

DeployerWorld::~DeployerWorld() {
  disk_.join();
  // Its thread posts to the loop.
  state_.state.reset();
}

void DeployerWorld::Write(std::string_view services) {
  std::ofstream(settings.deployment_file) << "version: 1\nhost: {runtime_dir: " << folder / "run"
                                          << ", state_dir: " << folder / "state"
                                          << "}\nservices:\n"
                                          << services;
}

std::string DeployerWorld::Service(const std::string& name, const std::string& more) const {
  return absl::StrCat("- name: ", name, "\n  module: m.so\n  listen: [\"http+unix:", Socket(name),
                      "\"]\n", more);
}

void DeployerWorld::WriteModule(const std::string& build) {
  // It may be read-only, as the build has made it.
  std::filesystem::remove(folder / "m.so");
  std::filesystem::copy_file(absl::StrCat("tests/services/", build, ".so"), folder / "m.so");
}

bool DeployerWorld::HasSocket(const std::string& name) const {
  struct stat info {};
  return lstat(Socket(name).c_str(), &info) == 0;
}

std::vector<ConfigProblem> DeployerWorld::Start() {
  deployer_ =
      std::make_unique<Deployer>(DeployerParts{loop_, disk_, time, time, *state_.state, *event_log_,
                                               *store_, *listeners_, *pool_, settings});
  LoadResult loaded = LoadDeployment(settings.deployment_file, settings.load_options);
  if (!loaded.deployment) return ToProblems(loaded.errors);
  return deployer_->Start({*std::move(loaded.deployment), state_.snapshot, false});
}

std::vector<ConfigProblem> DeployerWorld::GoOn() {
  deployer_ =
      std::make_unique<Deployer>(DeployerParts{loop_, disk_, time, time, *state_.state, *event_log_,
                                               *store_, *listeners_, *pool_, settings});
  LoadOptions options;
  options.formatted = true;
  LoadResult last = ParseDeployment(state_.snapshot.revision->deployment, "state", options);
  if (!last.deployment) return ToProblems(last.errors);
  return deployer_->Start({*std::move(last.deployment), state_.snapshot, true});
}

StateSnapshot DeployerWorld::CloseState() {
  EXPECT_TRUE(state_.state->Close(cohost::testing::kPatience).ok());
  return State::Open(StateFile()).snapshot;
}

bool DeployerWorld::Until(const std::function<bool()>& condition) {
  const SteadyTime deadline = SystemClock().Steady() + cohost::testing::kPatience;
  while (!condition()) {
    if (SystemClock().Steady() >= deadline) return false;
    loop_.restart();
    // Woken by what the threads of state and disk post.
    loop_.run_one_for(std::chrono::milliseconds(1));
    loop_.poll();
    holder.RunCallbacks();
    workers.Run();
    time.RunDue();
  }
  return true;
}

bool DeployerWorld::Settled() {
  return Until([this] { return pool_->settled(); });
}

template <typename Outcome>
absl::StatusOr<Outcome> DeployerWorld::Await(
    const std::function<void(std::function<void(absl::StatusOr<Outcome>)>)>& begin) {
  std::optional<absl::StatusOr<Outcome>> outcome;
  begin([&outcome](absl::StatusOr<Outcome> done) { outcome = std::move(done); });
  EXPECT_TRUE(Until([&outcome] { return outcome.has_value(); }));
  return outcome.value_or(absl::DeadlineExceededError("never answered"));
}

absl::StatusOr<ReloadOutcome> DeployerWorld::Reload(const Caller& caller, ChangeAction action) {
  return Await<ReloadOutcome>([&](auto done) { deployer_->Reload(caller, action, done); });
}

absl::StatusOr<DeployOutcome> DeployerWorld::Deploy(DeployRequest request, const Caller& caller) {
  return Await<DeployOutcome>([&](auto done) { deployer_->Deploy(caller, request, done); });
}

absl::StatusOr<DeployOutcome> DeployerWorld::Rollback(RollbackRequest request,
                                                      const Caller& caller) {
  return Await<DeployOutcome>([&](auto done) { deployer_->Rollback(caller, request, done); });
}

absl::StatusOr<HistoryView> DeployerWorld::History(const std::string& service) {
  return Await<HistoryView>([&](auto done) { deployer_->ReadHistory(service, 100, done); });
}

absl::StatusOr<StoreOutcome> DeployerWorld::MaintainStore(bool check, bool collect) {
  return Await<StoreOutcome>([&](auto done) { deployer_->MaintainStore(check, collect, done); });
}

absl::StatusOr<uint64_t> DeployerWorld::Stop(const std::string& name, const Caller& caller) {
  return Await<uint64_t>([&](auto done) { deployer_->StopService(caller, name, done); });
}

absl::StatusOr<uint64_t> DeployerWorld::StartService(const std::string& name,
                                                     const Caller& caller) {
  return Await<uint64_t>([&](auto done) { deployer_->StartService(caller, name, done); });
}

void DeployerWorld::OnPoolChanged() {
  boost::asio::post(loop_, [this] {
    if (deployer_ != nullptr) deployer_->LookAtRollouts();
  });
}

std::string DeployerWorld::PathOfBuild(const std::string& build) {
  return std::filesystem::absolute(absl::StrCat("tests/services/", build, ".so"));
}

std::string DeployerWorld::HashOfBuild(const std::string& build) {
  std::ifstream file(PathOfBuild(build), std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  Sha256 sha256;
  sha256.Update(content);
  return HexDigest(sha256.Finish());
}

std::vector<std::string> DeployerWorld::SlotsWith(const std::string& service,
                                                  const std::string& build) {
  std::vector<std::string> slots;
  const std::string hash = HashOfBuild(build);
  for (const std::string& worker : workers.Names()) {
    const FakeWorker* fake = workers.Find(worker);
    const auto path = fake->ModulePath(deployer_->ids().ids.at(service));
    if (path.find(hash) == std::string::npos || fake->draining()) continue;
    // worker/GROUP/SLOT/GENERATION
    slots.push_back(worker.substr(7, worker.rfind('/') - 7));
  }
  std::sort(slots.begin(), slots.end());
  return slots;
}

bool DeployerWorld::IsHosted(const std::string& name) {
  const auto id = deployer_->ids().ids.find(name);
  if (id == deployer_->ids().ids.end()) return false;
  const std::vector<std::string> names = workers.Names();
  return std::any_of(names.begin(), names.end(), [&](const std::string& worker) {
    const std::vector<uint64_t> services = workers.Find(worker)->services();
    return std::find(services.begin(), services.end(), id->second) != services.end();
  });
}

std::vector<std::string> DeployerWorld::Kinds() const {
  std::vector<std::string> kinds;
  for (const HostEvent& event : events) kinds.push_back(event.kind);
  return kinds;
}

std::vector<std::string> DeployerWorld::ListenerKeys() const {
  std::vector<std::string> keys;
  for (const auto& [key, listener] : listeners_->listeners()) keys.push_back(key);
  return keys;
}

}  // namespace cohost::supervisor
