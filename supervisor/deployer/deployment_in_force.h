// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "boost/asio/io_context.hpp"
#include "supervisor/admin/host_control.h"
#include "supervisor/deployer/prepared_deployment.h"
#include "supervisor/event_log.h"
#include "supervisor/listen/listener_set.h"
#include "supervisor/placement/placement.h"
#include "supervisor/pool/pool.h"
#include "supervisor/state/state.h"

namespace cohost::supervisor {

// Why a deployment changes, and what goes with it.
struct ChangeReason {
  ChangeAction action = ChangeAction::kReload;
  std::optional<uid_t> uid;  // unset: nobody asked
  // Of all services that are held from now on. Those that the new deployment does not hold are left
  // out by Commit.
  std::map<std::string, ServicePin> pins;
  // False when that was done: for the one service that changes, or when all was in force before.
  bool checks_signatures = true;
  // Called on the loop thread, once, when it is on the disk or cannot be; may be null.
  std::function<void(const absl::Status&)> saved;
};

// What Commit needs of the world; all outlive it.
struct InForceParts {
  boost::asio::io_context& loop;
  const Clock& clock;
  State& state;
  EventLog& events;
  ListenerSet& listeners;
  Pool& pool;
};

// The deployment in force: placed, listened for and given to the pool, and what the state keeps of
// it. A change is one turn of the loop and either happens as a whole or not at all. Loop thread
// only.
class DeploymentInForce {
 public:
  explicit DeploymentInForce(const InForceParts& parts) : parts_(parts) {}

  // What the state had, before the first Commit.
  void Restore(StateSnapshot snapshot);

  // Makes `prepared` the deployment in force, or says why it cannot be: by an error, or by problems
  // in the outcome (signatures that are missing); then nothing has changed. The revision rises when
  // it differs from the one before, in its text or in the content of its files.
  absl::StatusOr<ReloadOutcome> Commit(std::unique_ptr<PreparedDeployment> prepared,
                                       ChangeReason reason);

  // The first worker of the service's group gets this version of it; everything else stays, and
  // nothing of it is saved. Commit or EndCanary ends it. FAILED_PRECONDITION when it cannot be
  // tried beside the version in force, since it is not only another version (addresses, group).
  absl::Status BeginCanary(PreparedService canary);
  void EndCanary();

  // Operators' stops; answered when it is on the disk: what was acknowledged survives everything.
  void SetStopped(const Caller& caller, const std::string& name, bool stop,
                  std::function<void(absl::StatusOr<uint64_t>)> done);

  const PreparedDeployment* prepared() const { return prepared_.get(); }
  const std::string& text() const { return record_.deployment; }
  const Placement& placement() const { return placement_; }
  const ServiceIds& ids() const { return ids_; }
  const std::set<std::string>& stopped() const { return stopped_; }
  uint64_t revision() const { return record_.revision; }
  const std::map<std::string, ServicePin>& pins() const { return pins_; }
  // The group that hosts the service; empty: there is no such service.
  std::string GroupOf(const std::string& service) const;
  // The pin that replacing the version in force by another makes: what the deployment file says is
  // what an earlier pin has replaced, or else what is in force.
  ServicePin PinFor(const std::string& service) const;

 private:
  absl::Status Apply(const PreparedDeployment& prepared, const Placement& placement,
                     const std::set<std::string>& stopped);
  void Save(std::vector<ServiceChange> changes, std::vector<ModuleRecord> modules,
            std::function<void(const absl::Status&)> saved);
  // Of services that the next deployment makes solo though nobody wrote that.
  void TellOfSolo(const PreparedDeployment& next, const Placement& placement);
  void Tell(std::string_view kind, const std::string& text);

  // Set in the constructor, never changed.
  const InForceParts parts_;
  // Loop thread only.
  std::unique_ptr<PreparedDeployment> prepared_;
  Placement placement_;
  ServiceIds ids_;
  std::set<std::string> stopped_;
  // Of the deployment in force, as it is in the state; its text is what FormatDeployment writes and
  // what another one is compared with.
  StateRevision record_;
  std::map<std::string, ServiceChange> services_;  // the latest of each
  std::map<std::string, ServicePin> pins_;
  std::optional<PreparedService> canary_;
};

}  // namespace cohost::supervisor
