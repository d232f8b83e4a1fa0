// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/system/unique_fd.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/thread_pool.hpp"
#include "supervisor/deployer/deployer.h"
#include "tests/fakes/descriptor_holder.h"
#include "tests/fakes/manual_time.h"
#include "tests/fakes/workers.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {

// A deployer with everything real that a supervisor gives it (state, store, sockets, pool) but
// workers and keeper, in a folder of its own.
class DeployerWorld final : public PoolObserver {
 public:
  DeployerWorld();
  ~DeployerWorld() override;

  // The deployment file: `host` of this world, and `services` as its other lines.
  void Write(std::string_view services);
  // One service of the file, with the module "m.so", on a unix socket of the runtime folder.
  std::string Service(const std::string& name, const std::string& more = "") const;
  // Gives "m.so" the content of an earlier or a later build ("echo", "echo2").
  void WriteModule(const std::string& build);
  // The SHA-256 of one of them.
  static std::string HashOfBuild(const std::string& build);
  static std::string PathOfBuild(const std::string& build);
  // Where the service's workers have this build, as they were told: group/slot.
  std::vector<std::string> SlotsWith(const std::string& service, const std::string& build);
  std::string Socket(const std::string& name) const { return folder / ("run/" + name + ".sock"); }
  bool HasSocket(const std::string& name) const;

  // The first deployment, from the file and from what the state has.
  std::vector<ConfigProblem> Start();
  // The supervisor ends, and the next one finds what it has left; Start or GoOn comes after that.
  void Restart();
  // As a supervisor does that goes on after another: without the file.
  std::vector<ConfigProblem> GoOn();
  // What the state has; nothing can be written into it any more.
  StateSnapshot CloseState();
  absl::StatusOr<ReloadOutcome> Reload(const Caller& caller = {},
                                       ChangeAction action = ChangeAction::kReload);
  absl::StatusOr<DeployOutcome> Deploy(DeployRequest request, const Caller& caller = {});
  absl::StatusOr<DeployOutcome> Rollback(RollbackRequest request, const Caller& caller = {});
  absl::StatusOr<HistoryView> History(const std::string& service);
  absl::StatusOr<StoreOutcome> MaintainStore(bool check, bool collect);
  absl::StatusOr<uint64_t> Stop(const std::string& name, const Caller& caller = {});
  absl::StatusOr<uint64_t> StartService(const std::string& name, const Caller& caller = {});
  // Runs everything until `condition`; false when it does not come.
  bool Until(const std::function<bool()>& condition);
  bool Settled();

  // Whether some worker has the service.
  bool IsHosted(const std::string& name);
  std::vector<std::string> Kinds() const;

  Deployer& deployer() { return *deployer_; }
  Pool& pool() { return *pool_; }
  ListenerSet& listeners() { return *listeners_; }
  // Everything by key.
  std::vector<std::string> ListenerKeys() const;

  // PoolObserver
  void OnPoolEvent(const PoolEvent&) override {}
  void OnPoolChanged() override;

  const testing::TemporaryFolder folder;
  ManualTime time;
  FakeWorkers workers;
  FakeDescriptorHolder holder;
  std::vector<HostEvent> events;
  DeployerSettings settings;

 private:
  void Build();
  template <typename Outcome>
  absl::StatusOr<Outcome> Await(
      const std::function<void(std::function<void(absl::StatusOr<Outcome>)>)>& begin);
  State::Options StateFile() const;

  boost::asio::io_context loop_;
  boost::asio::thread_pool disk_{1};
  const UniqueFd nowhere_;
  Log log_;
  State::Opened state_;
  std::unique_ptr<EventLog> event_log_;
  std::unique_ptr<ModuleStore> store_;
  std::unique_ptr<ListenerSet> listeners_;
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<Deployer> deployer_;
};

}  // namespace cohost::supervisor
