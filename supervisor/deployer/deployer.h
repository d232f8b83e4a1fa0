// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/thread_pool.hpp"
#include "supervisor/admin/host_control.h"
#include "supervisor/deployer/deployment_in_force.h"
#include "supervisor/deployer/earlier_versions.h"
#include "supervisor/deployer/plan.h"
#include "supervisor/deployer/prepared_deployment.h"
#include "supervisor/deployer/rollout.h"
#include "supervisor/deployer/store_care.h"
#include "supervisor/event_log.h"
#include "supervisor/listen/listener_set.h"
#include "supervisor/loop/timers.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/placement/placement.h"
#include "supervisor/pool/pool.h"
#include "supervisor/state/state.h"

namespace cohost::supervisor {

// What a deployer works with; all outlive it.
struct DeployerParts {
  boost::asio::io_context& loop;
  // One thread, for what waits for disks and compilers.
  boost::asio::thread_pool& disk;
  Timers& timers;
  const Clock& clock;
  State& state;
  EventLog& events;
  ModuleStore& store;
  ListenerSet& listeners;
  Pool& pool;
  DeployerSettings settings;
  // What compiles IL; null: nothing does.
  ApplicationCompiler* compiler = nullptr;
};

// The first deployment of a supervisor.
struct FirstDeployment {
  Deployment deployment;
  // What the state had.
  StateSnapshot snapshot;
  // The deployment is the one that the snapshot has, for a supervisor that goes on after another:
  // then its services keep the files that they had, whatever their sources are now.
  bool goes_on = false;
};

// Every change of the deployment: first start, reload, deploy, rollback, an operator's stop and
// start; and the care of the module store, which must not meet them. A change is prepared (files
// published, sockets opened; may fail and then changes nothing), then committed in one turn of the
// loop. One change at a time; later ones wait. Loop thread only.
class Deployer {
 public:
  explicit Deployer(const DeployerParts& parts);
  ~Deployer();

  // Blocks on the disk, since nothing is served yet. Without problems the deployment is in force.
  std::vector<ConfigProblem> Start(FirstDeployment first);

  template <typename Outcome>
  using Done = std::function<void(absl::StatusOr<Outcome>)>;
  // See HostControl for these.
  void Reload(const Caller& caller, ChangeAction action, Done<ReloadOutcome> done);
  void Deploy(const Caller& caller, DeployRequest request, Done<DeployOutcome> done);
  void Rollback(const Caller& caller, RollbackRequest request, Done<DeployOutcome> done);
  void StopService(const Caller& caller, const std::string& name, Done<uint64_t> done);
  void StartService(const Caller& caller, const std::string& name, Done<uint64_t> done);
  void ReadHistory(const std::string& service, size_t limit, Done<HistoryView> done);
  void MaintainStore(bool check, bool collect, Done<StoreOutcome> done);

  // To be called after every change of the pool, not from inside the pool.
  void LookAtRollouts();

  // FAILED_PRECONDITION when the caller expects another revision than the one in force.
  absl::Status CheckRevision(const Caller& caller) const;

  const PreparedDeployment& prepared() const { return *in_force_.prepared(); }
  // What FormatDeployment writes of it.
  const std::string& text() const { return in_force_.text(); }
  const Placement& placement() const { return in_force_.placement(); }
  const ServiceIds& ids() const { return in_force_.ids(); }
  const std::set<std::string>& stopped() const { return in_force_.stopped(); }
  const std::map<std::string, ServicePin>& pins() const { return in_force_.pins(); }
  uint64_t revision() const { return in_force_.revision(); }

 private:
  // One change that waits or is under way. `run` ends with EndOperation, whatever happens.
  struct Operation {
    Caller caller;
    std::function<void()> run;
    std::function<void(absl::Status)> refuse;
  };
  // A new version of one service, ready to be put in force.
  struct NextVersion {
    Caller caller;
    PreparedService service;
    std::unique_ptr<PreparedDeployment> deployment;  // with it
    bool held = false;                               // it is not what the deployment file says
    ChangeAction action = ChangeAction::kDeploy;
    bool wait = false;
    absl::Duration canary_time;
    DeployOutcome outcome;
    Done<DeployOutcome> done;
  };

  // Refuses when too many wait.
  void Begin(Operation operation);
  void RunNext();
  void EndOperation();
  // `work` on the disk thread, `then` with its result on the loop.
  template <typename Result>
  void OnDisk(std::function<Result()> work, std::function<void(Result)> then);

  void FinishReload(const Caller& caller, ChangeAction action, Preparation preparation,
                    const Done<ReloadOutcome>& done);
  // What services that are held run with, for preparing another deployment.
  HeldServices Held() const;
  static HeldServices HeldFrom(const StateSnapshot& snapshot, bool goes_on);

  void RestoreService(const Caller& caller, const RollbackRequest& request,
                      const EarlierVersion& version, const Done<DeployOutcome>& done);
  void RestoreDeployment(const Caller& caller, uint64_t revision, const Done<DeployOutcome>& done);
  void FinishRestore(const Caller& caller, uint64_t restored, Preparation preparation,
                     const Done<DeployOutcome>& done);

  // Of a service in force.
  ServiceSurroundings SurroundingsOf(const std::string& service) const;
  // What was prepared, if it may run where its service is placed.
  void Take(const std::shared_ptr<NextVersion>& next, ServicePreparation preparation);
  std::unique_ptr<PreparedDeployment> NextDeployment(
      const PreparedService& service, const std::map<std::string, ContentSigners>& signers) const;
  void Try(const std::shared_ptr<NextVersion>& next);
  void EndTry(const std::shared_ptr<NextVersion>& next,
              absl::StatusOr<std::vector<std::string>> outcome);
  void Switch(const std::shared_ptr<NextVersion>& next);
  // When it is on the disk.
  void EndSwitch(const std::shared_ptr<NextVersion>& next, const absl::Status& saved);
  // Answers when the version serves everywhere; others may change things meanwhile.
  void Follow(const std::shared_ptr<NextVersion>& next);
  RolloutSettings Watch(const NextVersion& next, bool canary_only) const;

  void Collect(std::set<std::string> versions, StoreTasks tasks, const Done<StoreOutcome>& done);
  void Tell(std::string_view kind, const std::string& service, const Caller* caller,
            const std::string& text);

  // Set in the constructor, never changed.
  const DeployerParts parts_;
  const EarlierVersions earlier_;
  // Loop thread only.
  DeploymentInForce in_force_;
  std::deque<Operation> operations_;
  bool running_ = false;
  std::unique_ptr<Rollout> canary_;
  std::list<std::unique_ptr<Rollout>> followed_;
};

}  // namespace cohost::supervisor
