// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/format/link_protocol.h"
#include "supervisor/pool/generation/worker_client.h"
#include "supervisor/pool/generation/worker_link.h"
#include "supervisor/pool/pool_target.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// One service in one worker.
struct HostedService {
  uint64_t revision = 0;
  std::string name;
  std::string module_path;  // empty: adopted
  ServiceStatus status = ServiceStatus::kLoading;
  std::string reason;
  absl::Duration load_time;
  std::optional<std::set<uint64_t>> tokens;  // of its listeners; unset: not known
  ServiceGauges gauges;
};

// Who is told what happens to the services of a worker.
class RosterObserver {
 public:
  virtual ~RosterObserver() = default;
  virtual void OnServiceChanged(uint64_t service_id, const HostedService& service,
                                ServiceStatus before) = 0;
  // A service was answered for, or a state changed: the worker is not stuck.
  virtual void OnProgress() = 0;
  // It has stopped to accept for some service: connections that woke it need another worker.
  virtual void OnIntakeStopped() = 0;
  // The worker breaks the rules, or its link or channel is of no use any more.
  virtual void OnFault(const absl::Status& why) = 0;
  virtual void OnRemark(const std::string& text) = 0;
};

// The ways to the worker, which come and go.
class RosterHost {
 public:
  virtual ~RosterHost() = default;
  // Null while there is no channel that works; then nothing is begun.
  virtual WorkerClient* channel() = 0;
  // Valid while there is a channel.
  virtual WorkerLink& link() = 0;
  virtual void ChannelFailed(const absl::Status& why) = 0;
  virtual void ChannelWorks() = 0;
  // Notes the segment's row of a service; false (and a fault) when it cannot be right.
  virtual bool TakeRow(uint64_t service_id, uint32_t row) = 0;
};

// The services of one worker: which should be there, which are, and what is under way between the
// two. Listeners go over the link first, then services are assigned one at a time, in order. Loop
// thread only; host and observer outlive it.
class ServiceRoster {
 public:
  // The worker fails a slow service itself at the start timeout; one that does not is hung.
  static constexpr absl::Duration kLoadMargin = absl::Seconds(3);

  ServiceRoster(RosterHost& host, RosterObserver& observer) : host_(host), observer_(observer) {}

  // What should be in it. A service that is there with another revision stays as it is.
  void SetServices(std::vector<std::shared_ptr<const ServiceTarget>> wanted,
                   const GroupPolicy& policy);
  // Takes the worker's own word for what is there. False after a fault.
  bool TakeState(const LinkMessage& state);
  void TakeServiceState(const LinkServiceState& state);
  void TakeGauges(const WorkerGauges& gauges);
  void TakeProbe(const std::vector<ProbeOutcome>& outcomes);
  // There is a new channel: calls that were open on the old one are made again.
  void BeginAgain();
  // The worker drains: nothing is assigned or removed any more.
  void Close() { closed_ = true; }
  // The worker is ended because nothing goes on: what it is loading hangs.
  void GiveUp() { hung_ = suspect_ != 0; }
  // Loads a service again that has failed.
  void Retry(uint64_t service_id);

  // SetServices was called, and every wanted service is ready or failed.
  bool settled() const;
  const std::map<uint64_t, HostedService>& services() const { return services_; }
  // Of the listeners that the worker has.
  const std::set<uint64_t>& tokens() const { return acknowledged_; }
  // Assigned and never answered for; 0: none.
  uint64_t suspect() const { return suspect_; }
  // The suspect did not load in time.
  bool hung() const { return hung_; }

 private:
  bool usable() { return !closed_ && host_.channel() != nullptr; }
  void Step();
  void RemoveUnwanted();
  void Remove(uint64_t service_id);
  void FinishRemove(uint64_t service_id, const absl::Status& status);
  void ReleaseListeners();
  absl::Status SendListeners(const ServiceTarget& service);
  // UNAVAILABLE while some listener of the service is not acknowledged, else why it has none.
  absl::Status CheckListeners(const ServiceTarget& service) const;
  bool IsMissing(const ServiceTarget& service) const;
  void AssignNext();
  void Assign(const std::shared_ptr<const ServiceTarget>& service);
  void FinishAssign(const std::shared_ptr<const ServiceTarget>& service,
                    const absl::StatusOr<AssignOutcome>& outcome);
  void FailService(const ServiceTarget& service, std::string reason);
  void SetStatus(uint64_t service_id, ServiceStatus status, std::string reason);

  // Set in the constructor, never changed.
  RosterHost& host_;
  RosterObserver& observer_;
  // Loop thread only.
  bool told_ = false;  // SetServices was called
  bool closed_ = false;
  std::vector<std::shared_ptr<const ServiceTarget>> wanted_;
  GroupPolicy policy_;
  std::map<uint64_t, HostedService> services_;
  uint64_t assigning_ = 0;  // service id; 0: none
  uint64_t suspect_ = 0;
  bool hung_ = false;
  std::set<uint64_t> removing_;  // service ids
  std::set<uint64_t> stuck_;     // service ids that the worker could not remove
  std::set<uint64_t> sent_;      // listener tokens
  std::set<uint64_t> acknowledged_;
  std::map<uint64_t, std::string> refused_;  // tokens that the worker could not take, and why
};

}  // namespace cohost::supervisor
