// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "supervisor/admin/host_control.h"

namespace cohost::supervisor {

// A host of three groups, five services, four workers and two modules, all values fixed.
HostSnapshot SampleHost();
// The same kind of host with so many services in groups of 16.
HostSnapshot LargeHost(size_t services);

// A HostControl with a loop thread of its own and a history in memory. It does what a small host
// would: a stop marks the service, a recycle raises the generation, everything leaves an event.
// Thread-safe. Destroyed after whoever calls it; what was posted is done first.
class FakeHostControl : public HostControl {
 public:
  explicit FakeHostControl(HostSnapshot snapshot = SampleHost());
  ~FakeHostControl() override;

  std::shared_ptr<const HostSnapshot> snapshot() const override;
  void Reload(Caller caller, ChangeAction action,
              std::function<void(absl::StatusOr<ReloadOutcome>)> done) override;
  void Recycle(Caller caller, std::string group, std::optional<uint32_t> slot,
               std::function<void(absl::StatusOr<RecycleOutcome>)> done) override;
  void StopService(Caller caller, std::string name,
                   std::function<void(absl::StatusOr<uint64_t>)> done) override;
  void StartService(Caller caller, std::string name,
                    std::function<void(absl::StatusOr<uint64_t>)> done) override;
  // A deploy raises the revision and gives the service the hash of its path's letters; a path with
  // "wrong" in it has one problem, one with "sick" fails as a canary does.
  void Deploy(Caller caller, DeployRequest request,
              std::function<void(absl::StatusOr<DeployOutcome>)> done) override;
  void Rollback(Caller caller, RollbackRequest request,
                std::function<void(absl::StatusOr<DeployOutcome>)> done) override;
  // Two revisions of everything.
  void ReadHistory(std::string service, uint32_t limit,
                   std::function<void(absl::StatusOr<HistoryView>)> done) override;
  // The services of the snapshot; one data image and one signature.
  void ExportDeployment(std::function<void(absl::StatusOr<DeploymentExport>)> done) override;
  void MaintainStore(Caller caller, bool check, bool collect,
                     std::function<void(absl::StatusOr<StoreOutcome>)> done) override;
  // A text or a file name with "wrong" in it has one problem.
  void Plan(std::string text, std::string file_name,
            std::function<void(absl::StatusOr<PlanOutcome>)> done) override;
  void Validate(std::string text, std::string file_name,
                std::function<void(std::vector<ConfigProblem>, uint32_t services)> done) override;
  // Modules are measured when the snapshot has them.
  void MeasureMemory(
      MemoryDepth depth,
      std::function<void(absl::StatusOr<std::shared_ptr<const HostSnapshot>>)> done) override;
  // A host of SampleHost's size, with one sample that failed when more than one is asked for.
  void MeasureUnshared(Caller caller, uint32_t samples,
                       std::function<void(absl::StatusOr<UnsharedMemory>)> done) override;
  void Record(HostEvent event) override;
  void ReadEvents(uint64_t after_id, uint32_t last, uint32_t limit,
                  std::function<void(absl::StatusOr<std::vector<HostEvent>>)> done) override;
  std::function<void()> SubscribeEvents(std::function<void(const HostEvent&)> event) override;

  // Makes the snapshot another one.
  void Change(const std::function<void(HostSnapshot&)>& change);
  // Adds an event and tells the subscribers; the id it got.
  uint64_t Emit(HostEvent event);
  // What the deployment file has wrong from now on.
  void SetProblems(std::vector<ConfigProblem> problems);
  // From now on mutations are begun and never answered.
  void Hang();
  // Every mutation that came, oldest first: "stop catalog uid=0 id=abc".
  std::vector<std::string> calls() const;
  size_t subscribers() const;

 private:
  void Post(std::function<void()> work);
  void Run();
  void Mutate(const std::string& call, const Caller& caller, std::function<void()> work);
  uint64_t EmitOnLoop(HostEvent event);
  absl::StatusOr<uint64_t> SetStopped(const Caller& caller, const std::string& name, bool stopped);

  mutable Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<const HostSnapshot> snapshot_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mutex_);
  std::vector<HostEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<ConfigProblem> problems_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
  bool hanging_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_subscriber_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, std::function<void(const HostEvent&)>> subscribers_ ABSL_GUARDED_BY(mutex_);
  std::thread loop_;
};

}  // namespace cohost::supervisor
