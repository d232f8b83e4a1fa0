// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "supervisor/pool/generation_id.h"
#include "supervisor/pool/pool_parts.h"
#include "supervisor/pool/pool_target.h"
#include "supervisor/pool/segment_reader.h"
#include "supervisor/pool/worker_client.h"
#include "supervisor/pool/worker_link.h"

namespace cohost::supervisor {

// One service in one worker.
struct HostedService {
  uint64_t revision = 0;
  std::string name;
  ServiceStatus status = ServiceStatus::kLoading;
  std::string reason;
  absl::Duration load_time;
  ServiceGauges gauges;
};

// One worker process: its descriptors, link, channel and segment, and the services in it. It does
// what it is told and reports; what to do about it is Worker's (worker.h). Loop thread only. Ending
// it ends no process.
class Generation final : public WorkerLink::Observer {
 public:
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void OnSpawnFailed(const absl::Status& why) = 0;
    // The first answer to a hello; `draining` is the worker's own word.
    virtual void OnReported(bool draining) = 0;
    // A service's state changed, or all wanted ones became settled.
    virtual void OnServiceChanged(uint64_t service_id, const HostedService& service,
                                  ServiceStatus before) = 0;
    virtual void OnProgress() = 0;
    virtual void OnGenerationDrained() = 0;
    // The link or the channel is of no use any more.
    virtual void OnFault(const absl::Status& why) = 0;
    virtual void OnProbe(bool answered) = 0;
    virtual void OnKillFailed(const absl::Status& why) = 0;
    virtual void OnRemark(const std::string& text) = 0;
  };

  // What a fresh process gets beside its group's identity and limits.
  struct Birth {
    GenerationId id;
    GenerationRecord record;
    int log_file = -1;  // borrowed; -1: none
  };

  Generation(const PoolParts& parts, Observer& observer, GenerationId id);
  ~Generation() override;
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // Exactly one of the two, once. Spawn fails by OnSpawnFailed, never at once. Adopt's entry has
  // the link and the segment; it fails when the entry is not what Spawn has made.
  void Spawn(const GroupTarget& group, GenerationRecord record, int log_file);
  absl::Status Adopt(HeldEntry entry, pid_t pid);

  // What should be in it: missing services are assigned one at a time, in this order; others are
  // removed. A service that is there with another revision stays as it is.
  void SetServices(std::vector<std::shared_ptr<const ServiceTarget>> wanted,
                   const GroupPolicy& policy);
  // Every wanted service is ready or failed; never before the worker has reported.
  bool settled() const;

  void Drain(absl::Duration timeout);
  // Both get an end of a hand-over socket, for idle connections.
  void HandOverTo(Generation& successor);
  // Asks it to exit; false when it cannot be asked any more.
  bool Stop();
  void Kill();
  void Rearm();
  void SetLogFile(int file);
  void Probe(absl::Duration timeout);

  // After its end: the services that it was loading.
  std::vector<uint64_t> Suspects();

  const GenerationId& id() const { return id_; }
  const GenerationRecord& record() const { return record_; }
  pid_t pid() const { return pid_; }
  bool reported() const { return reported_; }
  const std::string& binary_id() const { return binary_id_; }
  const std::map<uint64_t, HostedService>& services() const { return services_; }
  const std::set<uint64_t>& tokens() const { return acknowledged_; }
  // Null before Spawn or Adopt has made one.
  SegmentReader* segment() const { return segment_.get(); }

  // WorkerLink::Observer
  void OnLinkState(const LinkMessage& state) override;
  void OnServiceState(const LinkServiceState& state) override;
  void OnDrained() override;
  void OnLinkLost(const absl::Status& why) override;

 private:
  absl::Status Prepare(GenerationRecord record);
  void Launch(ProcessSpec spec);
  ProcessSpec SpecFor(const GroupTarget& group) const;
  void StartLink(UniqueFd socket);
  void Connect();
  void Reconnect(const absl::Status& why);
  void WatchStatistics();
  void TakeGauges(const WorkerGauges& gauges);
  void Step();
  void RemoveUnwanted();
  void FinishRemove(uint64_t service_id, const absl::Status& status);
  void SendListeners(const ServiceTarget& service);
  // Whether every listener of the service is acknowledged.
  bool HasListeners(const ServiceTarget& service) const;
  void AssignNext();
  void FinishAssign(const std::shared_ptr<const ServiceTarget>& service,
                    const absl::StatusOr<AssignOutcome>& outcome);
  void FailService(const ServiceTarget& service, std::string reason);
  void SetStatus(uint64_t service_id, ServiceStatus status, std::string reason);
  void ReleaseListeners();

  // Set in the constructor, never changed.
  const PoolParts& parts_;
  Observer& observer_;
  const GenerationId id_;
  // Loop thread only.
  GenerationRecord record_;
  pid_t pid_ = 0;
  std::string binary_id_;
  bool reported_ = false;
  bool draining_ = false;
  UniqueFd worker_end_;  // until the launch
  UniqueFd segment_fd_;  // until the launch
  UniqueFd log_file_;    // until the launch
  std::unique_ptr<SegmentReader> segment_;
  std::unique_ptr<WorkerLink> link_;
  std::unique_ptr<WorkerClient> client_;
  uint32_t failed_channels_ = 0;  // in a row, without an answer between them
  std::vector<std::shared_ptr<const ServiceTarget>> wanted_;
  GroupPolicy policy_;
  std::map<uint64_t, HostedService> services_;
  uint64_t assigning_ = 0;       // service id; 0: none
  std::set<uint64_t> removing_;  // service ids
  std::set<uint64_t> sent_;      // listener tokens sent
  std::set<uint64_t> acknowledged_;
  std::map<uint64_t, std::string> refused_;  // tokens that the worker could not take, and why
  Timer reconnect_timer_;
  // Ends with this object; answers of launcher and holder that come later look at it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cohost::supervisor
