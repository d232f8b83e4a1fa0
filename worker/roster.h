// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/accept/listener_book.h"
#include "worker/control/control_service.h"
#include "worker/prober.h"
#include "worker/service_load.h"
#include "worker/services/hosted_service.h"
#include "worker/worker_parts.h"

namespace cohost::worker {

// Makes the runtime's object for a service, without starting it. I/O thread.
using MakeHosted = std::function<absl::StatusOr<std::unique_ptr<HostedService>>(
    const v1::AssignRequest& request, ServiceEntry& entry)>;

// The services that were assigned to this worker, and what became of them: what the supervisor's
// calls work on. Loads one service at a time, in the order of the calls, whoever makes them. A
// service that failed stays, with its reason, until it is removed. I/O thread only. References
// outlive it; it ends with the process.
class Roster final : public ControlHandler {
 public:
  Roster(WorkerParts& parts, const ListenerBook& listeners, MakeHosted make_hosted);
  ~Roster() override;

  // The same (service_id, revision) again gets the state that it is in, or waits for it.
  // FAILED_PRECONDITION: another revision is here (a module changes with a new worker only), it is
  // being removed, or the worker drains. INVALID_ARGUMENT: a field is out of range.
  void Assign(const v1::AssignRequest& request,
              std::function<void(absl::StatusOr<v1::AssignResponse>)> done) override;
  void Remove(const v1::RemoveRequest& request,
              std::function<void(absl::StatusOr<v1::RemoveResponse>)> done) override;
  void Probe(const v1::ProbeRequest& request, std::function<void(v1::ProbeResponse)> done) override;
  v1::StatisticsBatch Statistics() override;

  // The worker drains: from now on nothing is assigned or removed, and what is loading fails.
  void Close();
  // Calls `done` once, at once or later, when the last load and the last removal have ended.
  void WhenQuiet(std::function<void()> done);
  std::vector<ServiceEntry*> ready() const;

 private:
  using AssignDone = std::function<void(absl::StatusOr<v1::AssignResponse>)>;
  using RemoveDone = std::function<void(absl::StatusOr<v1::RemoveResponse>)>;
  struct Record;
  struct WaitingAssign {
    v1::AssignRequest request;
    AssignDone done;
  };

  absl::Status CheckAssign(const v1::AssignRequest& request) const;
  void BeginLoad(const v1::AssignRequest& request, AssignDone done);
  void OnLoaded(uint64_t id, const absl::Status& status);
  void Settle(Record& record, const absl::Status& status, bool disposable);
  void BeginNextLoad();
  void BeginRemoval(Record& record);
  void EndRemoval(Record& record, uint32_t cancelled, bool disposable);
  void TellIfQuiet();
  void LogLoad(const Record& record) const;

  // Set in the constructor, never changed.
  WorkerParts& parts_;
  const ListenerBook& listeners_;
  const MakeHosted make_hosted_;

  Prober prober_;
  std::map<uint64_t, std::unique_ptr<Record>> records_;
  std::deque<WaitingAssign> waiting_;
  Record* loading_ = nullptr;
  uint32_t removals_ = 0;
  bool closed_ = false;
  std::function<void()> when_quiet_;
};

}  // namespace cohost::worker
