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
  std::string module_path;  // empty: adopted
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
    virtual void OnServiceChanged(uint64_t service_id, const HostedService& service,
                                  ServiceStatus before) = 0;
    // A service was answered for, or a state changed: it is not stuck.
    virtual void OnProgress() = 0;
    // It has stopped to accept for some service: connections that woke it need another worker.
    virtual void OnIntakeStopped() = 0;
    virtual void OnGenerationDrained() = 0;
    // The link or the channel is of no use any more.
    virtual void OnFault(const absl::Status& why) = 0;
    virtual void OnProbe(bool answered) = 0;
    virtual void OnKillFailed(const absl::Status& why) = 0;
    virtual void OnRemark(const std::string& text) = 0;
  };

  // Gauges of modules only; everything that is watched closely is in the segment. Long, since a
  // thousand idle services must cost nothing.
  static constexpr absl::Duration kStatisticsInterval = absl::Seconds(10);
  // The worker fails a slow service itself at the start timeout; one that does not is hung.
  static constexpr absl::Duration kLoadMargin = absl::Seconds(3);
  // New channels in a row that were of no use.
  static constexpr uint32_t kMaxChannels = 5;

  Generation(const PoolParts& parts, Observer& observer, GenerationId id);
  ~Generation() override;
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // Exactly one of the two, once. Spawn fails by OnSpawnFailed, never at once. Adopt's entry has
  // the link and the segment; it fails when the entry is not what Spawn has made.
  // `log_file` is borrowed; -1: none.
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

  // Loads a service again that has failed here.
  void Retry(uint64_t service_id);

  // After its end: the services that it was loading.
  std::vector<uint64_t> Suspects();

  // Whether it was because its suspect hung.
  bool hung() const { return hung_; }

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
  absl::Status Prepare(ProcessSpec spec, int log_file);
  void Launch(ProcessSpec spec);
  ProcessSpec SpecFor(const GroupTarget& group) const;
  void StartLink(UniqueFd socket);
  bool usable() const;
  void Connect();
  void ConnectAgain();
  void Reconnect(const absl::Status& why);
  void WatchStatistics();
  void TakeGauges(const WorkerGauges& gauges);
  void Step();
  void RemoveUnwanted();
  void Remove(uint64_t service_id);
  void FinishRemove(uint64_t service_id, const absl::Status& status);
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
  void TakeProbe(const std::vector<ProbeOutcome>& outcomes);
  bool TakeRow(uint64_t service_id, uint32_t row);
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
  bool told_ = false;             // SetServices was called
  std::vector<std::shared_ptr<const ServiceTarget>> wanted_;
  GroupPolicy policy_;
  std::map<uint64_t, HostedService> services_;
  uint64_t assigning_ = 0;       // service id; 0: none
  uint64_t suspect_ = 0;         // assigned and never answered for; 0: none
  bool hung_ = false;            // the suspect did not load in time
  std::set<uint64_t> removing_;  // service ids
  std::set<uint64_t> stuck_;     // service ids that the worker could not remove
  std::set<uint64_t> sent_;      // listener tokens sent
  std::set<uint64_t> acknowledged_;
  std::map<uint64_t, std::string> refused_;  // tokens that the worker could not take, and why
  Timer reconnect_timer_;
  // Ends with this object; answers of launcher and holder that come later look at it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cohost::supervisor
