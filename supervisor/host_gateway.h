// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "boost/asio/io_context.hpp"
#include "supervisor/admin/host_control.h"

namespace cohost::supervisor {

// The loop's side of HostControl: the same operations, called on the loop thread. Implemented by
// Supervisor.
class HostOperations {
 public:
  virtual ~HostOperations() = default;
  virtual std::shared_ptr<const HostSnapshot> BuildSnapshot() = 0;
  virtual void Reload(const Caller& caller, ChangeAction action,
                      std::function<void(absl::StatusOr<ReloadOutcome>)> done) = 0;
  virtual void Recycle(const Caller& caller, const std::string& group, std::optional<uint32_t> slot,
                       std::function<void(absl::StatusOr<RecycleOutcome>)> done) = 0;
  virtual void StopService(const Caller& caller, const std::string& name,
                           std::function<void(absl::StatusOr<uint64_t>)> done) = 0;
  virtual void StartService(const Caller& caller, const std::string& name,
                            std::function<void(absl::StatusOr<uint64_t>)> done) = 0;
  virtual void Deploy(const Caller& caller, DeployRequest request,
                      std::function<void(absl::StatusOr<DeployOutcome>)> done) = 0;
  virtual void Rollback(const Caller& caller, RollbackRequest request,
                        std::function<void(absl::StatusOr<DeployOutcome>)> done) = 0;
  virtual void ReadHistory(const std::string& service, uint32_t limit,
                           std::function<void(absl::StatusOr<HistoryView>)> done) = 0;
  virtual void ExportDeployment(std::function<void(absl::StatusOr<DeploymentExport>)> done) = 0;
  virtual void MaintainStore(const Caller& caller, bool check, bool collect,
                             std::function<void(absl::StatusOr<StoreOutcome>)> done) = 0;
  virtual void Plan(std::string text, std::string file_name,
                    std::function<void(absl::StatusOr<PlanOutcome>)> done) = 0;
  virtual void Validate(std::string text, std::string file_name,
                        std::function<void(std::vector<ConfigProblem>, uint32_t)> done) = 0;
  virtual void MeasureMemory(
      MemoryDepth depth,
      std::function<void(absl::StatusOr<std::shared_ptr<const HostSnapshot>>)> done) = 0;
  virtual void MeasureUnshared(const Caller& caller, uint32_t samples,
                               std::function<void(absl::StatusOr<UnsharedMemory>)> done) = 0;
  virtual void Record(HostEvent event) = 0;
  virtual void ReadEvents(uint64_t after_id, uint32_t last, uint32_t limit,
                          std::function<void(absl::StatusOr<std::vector<HostEvent>>)> done) = 0;
  virtual uint64_t SubscribeEvents(std::function<void(const HostEvent&)> event) = 0;
  virtual void UnsubscribeEvents(uint64_t subscription) = 0;
};

// Takes the calls of other threads to the loop. Thread-safe; loop, clock and operations outlive it.
// A snapshot is built when somebody asks and the last one is older than kSnapshotAge or was
// invalidated: a host that nobody looks at builds none.
class HostGateway final : public HostControl {
 public:
  static constexpr absl::Duration kSnapshotAge = absl::Milliseconds(200);
  // How long a caller of snapshot() waits for a busy loop before it gets the last one.
  static constexpr absl::Duration kSnapshotWait = absl::Seconds(1);

  // Made on the loop thread.
  HostGateway(boost::asio::io_context& loop, const Clock& clock, HostOperations& operations);

  // Something has changed that callers must see at once (a state, a deployment): the next one who
  // asks gets a new snapshot, however young the last one is.
  void Invalidate();

  std::shared_ptr<const HostSnapshot> snapshot() const override;
  void Reload(Caller caller, ChangeAction action,
              std::function<void(absl::StatusOr<ReloadOutcome>)> done) override;
  void Recycle(Caller caller, std::string group, std::optional<uint32_t> slot,
               std::function<void(absl::StatusOr<RecycleOutcome>)> done) override;
  void StopService(Caller caller, std::string name,
                   std::function<void(absl::StatusOr<uint64_t>)> done) override;
  void StartService(Caller caller, std::string name,
                    std::function<void(absl::StatusOr<uint64_t>)> done) override;
  void Deploy(Caller caller, DeployRequest request,
              std::function<void(absl::StatusOr<DeployOutcome>)> done) override;
  void Rollback(Caller caller, RollbackRequest request,
                std::function<void(absl::StatusOr<DeployOutcome>)> done) override;
  void ReadHistory(std::string service, uint32_t limit,
                   std::function<void(absl::StatusOr<HistoryView>)> done) override;
  void ExportDeployment(std::function<void(absl::StatusOr<DeploymentExport>)> done) override;
  void MaintainStore(Caller caller, bool check, bool collect,
                     std::function<void(absl::StatusOr<StoreOutcome>)> done) override;
  void Plan(std::string text, std::string file_name,
            std::function<void(absl::StatusOr<PlanOutcome>)> done) override;
  void Validate(std::string text, std::string file_name,
                std::function<void(std::vector<ConfigProblem>, uint32_t)> done) override;
  void MeasureMemory(
      MemoryDepth depth,
      std::function<void(absl::StatusOr<std::shared_ptr<const HostSnapshot>>)> done) override;
  void MeasureUnshared(Caller caller, uint32_t samples,
                       std::function<void(absl::StatusOr<UnsharedMemory>)> done) override;
  void Record(HostEvent event) override;
  void ReadEvents(uint64_t after_id, uint32_t last, uint32_t limit,
                  std::function<void(absl::StatusOr<std::vector<HostEvent>>)> done) override;
  std::function<void()> SubscribeEvents(std::function<void(const HostEvent&)> event) override;

 private:
  // What a waiting caller and the loop share; outlives the gateway when a caller still waits.
  struct Shared {
    Mutex mutex;
    CondVar built;
    std::shared_ptr<const HostSnapshot> snapshot ABSL_GUARDED_BY(mutex);
    SteadyTime built_at ABSL_GUARDED_BY(mutex);  // 0: invalidated
    bool building ABSL_GUARDED_BY(mutex) = false;
  };
  void Build() const;

  // Set in the constructor, never changed.
  boost::asio::io_context& loop_;
  const Clock& clock_;
  HostOperations& operations_;
  const std::thread::id loop_thread_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace cohost::supervisor
