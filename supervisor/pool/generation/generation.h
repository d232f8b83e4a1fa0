// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "supervisor/pool/generation/generation_id.h"
#include "supervisor/pool/generation/segment_reader.h"
#include "supervisor/pool/generation/service_roster.h"
#include "supervisor/pool/generation/worker_client.h"
#include "supervisor/pool/generation/worker_link.h"
#include "supervisor/pool/pool_parts.h"
#include "supervisor/pool/pool_target.h"

namespace cohost::supervisor {

// One worker process: its descriptors, link, channel and segment, and the roster of its services.
// It does what it is told and reports; what to do about it is Worker's (worker.h). Loop thread
// only. Ending it ends no process.
class Generation final : public WorkerLink::Observer, public RosterHost {
 public:
  class Observer : public RosterObserver {
   public:
    virtual void OnSpawnFailed(const absl::Status& why) = 0;
    // The first answer to a hello; `draining` is the worker's own word.
    virtual void OnReported(bool draining) = 0;
    virtual void OnGenerationDrained() = 0;
    virtual void OnProbe(bool answered) = 0;
    virtual void OnKillFailed(const absl::Status& why) = 0;
  };

  // Gauges of modules only; everything that is watched closely is in the segment. Long, since a
  // thousand idle services must cost nothing.
  static constexpr absl::Duration kStatisticsInterval = absl::Seconds(10);
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

  ServiceRoster& roster() { return roster_; }
  const ServiceRoster& roster() const { return roster_; }

  void Drain(absl::Duration timeout);
  // Both get an end of a hand-over socket, for idle connections.
  void HandOverTo(Generation& successor);
  // Asks it to exit; false when it cannot be asked any more.
  bool Stop();
  void Kill();
  // Once nothing of the process is left.
  void RemoveFolder();
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
  // What could not be done as asked when it was spawned: limits, the control group. Not known of
  // adopted ones.
  const std::vector<std::string>& remarks() const { return remarks_; }
  // Where its .NET runtime takes diagnostics; empty: it does not.
  const std::string& folder() const { return folder_; }
  // Null before Spawn or Adopt has made one.
  SegmentReader* segment() const { return segment_.get(); }

  // WorkerLink::Observer
  void OnLinkState(const LinkMessage& state) override;
  void OnServiceState(const LinkServiceState& state) override;
  void OnDrained() override;
  void OnLinkLost(const absl::Status& why) override;
  // RosterHost
  WorkerClient* channel() override;
  WorkerLink& link() override { return *link_; }
  void ChannelFailed(const absl::Status& why) override;
  void ChannelWorks() override { failed_channels_ = 0; }
  bool TakeRow(uint64_t service_id, uint32_t row) override;

 private:
  void MakeFolder(const GroupTarget& group);
  absl::Status Prepare(ProcessSpec spec, int log_file);
  void Launch(ProcessSpec spec);
  ProcessSpec SpecFor(const GroupTarget& group) const;
  void StartLink(UniqueFd socket);
  void Connect();
  void WatchStatistics();

  // Set in the constructor, never changed.
  const PoolParts& parts_;
  Observer& observer_;
  const GenerationId id_;
  // Loop thread only.
  GenerationRecord record_;
  pid_t pid_ = 0;
  std::string binary_id_;
  std::vector<std::string> remarks_;
  std::string folder_;
  bool reported_ = false;
  UniqueFd worker_end_;  // until the launch
  UniqueFd segment_fd_;  // until the launch
  UniqueFd log_file_;    // until the launch
  std::unique_ptr<SegmentReader> segment_;
  std::unique_ptr<WorkerLink> link_;
  std::unique_ptr<WorkerClient> client_;
  uint32_t failed_channels_ = 0;  // in a row, without an answer between them
  ServiceRoster roster_;
  Timer reconnect_timer_;
  // Ends with this object; answers of launcher and holder that come later look at it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cohost::supervisor
