// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
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
#include "supervisor/config/load_options.h"
#include "supervisor/deployer/prepared_deployment.h"
#include "supervisor/event_log.h"
#include "supervisor/listen/listener_set.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/placement/placement.h"
#include "supervisor/pool/pool.h"
#include "supervisor/state/state.h"

namespace cohost::supervisor {

struct DeployerSettings {
  std::string deployment_file;
  LoadOptions load_options;
  bool as_root = false;
};

// What a deployer works with; all outlive it.
struct DeployerParts {
  boost::asio::io_context& loop;
  // One thread, for what waits for disks.
  boost::asio::thread_pool& disk;
  const Clock& clock;
  State& state;
  EventLog& events;
  ModuleStore& store;
  ListenerSet& listeners;
  Pool& pool;
  DeployerSettings settings;
};

// The deployment in force and every change of it: first start, reload, an operator's stop and
// start. A change is prepared (files published, sockets opened; may fail and then changes nothing),
// then committed in one turn of the loop. One change at a time; later ones wait. Loop thread only.
class Deployer {
 public:
  explicit Deployer(const DeployerParts& parts) : parts_(parts) {}

  // The first deployment of this supervisor; blocks on the disk, since nothing is served yet.
  // `snapshot` is what the state had. Without problems the deployment is in force.
  std::vector<ConfigProblem> Start(Deployment deployment, StateSnapshot snapshot);

  using ReloadDone = std::function<void(absl::StatusOr<ReloadOutcome>)>;
  using EventDone = std::function<void(absl::StatusOr<uint64_t>)>;
  void Reload(const Caller& caller, ReloadDone done);
  void StopService(const Caller& caller, const std::string& name, EventDone done);
  void StartService(const Caller& caller, const std::string& name, EventDone done);

  // FAILED_PRECONDITION when the caller expects another revision than the one in force.
  absl::Status CheckRevision(const Caller& caller) const;

  const PreparedDeployment& prepared() const { return *prepared_; }
  const Placement& placement() const { return placement_; }
  const ServiceIds& ids() const { return ids_; }
  const std::set<std::string>& stopped() const { return stopped_; }
  uint64_t revision() const { return revision_; }

 private:
  // Makes `prepared` the deployment in force, or says why it cannot be. The revision rises when it
  // differs from the one before, in its text or in the content of its files.
  std::vector<ConfigProblem> Commit(std::unique_ptr<PreparedDeployment> prepared,
                                    ReloadOutcome* outcome);
  // What may fail of it, for a deployment that may run where it is placed.
  absl::Status Enforce(const PreparedDeployment& prepared, const Placement& placement);
  absl::Status Apply(const PreparedDeployment& prepared, const Placement& placement,
                     const std::set<std::string>& stopped);
  void RunNextReload();
  void FinishReload(const Caller& caller, Preparation preparation, const ReloadDone& done);
  void Save(const Caller* caller);
  void SetStopped(const Caller& caller, const std::string& name, bool stop, EventDone done);

  // Set in the constructor, never changed.
  const DeployerParts parts_;
  // Loop thread only.
  std::unique_ptr<PreparedDeployment> prepared_;
  Placement placement_;
  ServiceIds ids_;
  std::set<std::string> stopped_;
  uint64_t revision_ = 0;
  // The deployment in force as FormatDeployment writes it: what the state keeps and what another
  // one is compared with.
  std::string text_;
  std::deque<std::pair<Caller, ReloadDone>> reloads_;
  bool reloading_ = false;
};

// Reads and places a deployment without touching anything: `text` empty means the file on disk.
// Any thread; blocks on the disk.
PlanOutcome PlanDeployment(const DeployerSettings& settings, const std::string& text,
                           const std::string& file_name, PlacementRecord previous);

}  // namespace cohost::supervisor
