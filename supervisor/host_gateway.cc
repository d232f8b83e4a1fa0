// SPDX-License-Identifier: Apache-2.0
#include "supervisor/host_gateway.h"

#include <chrono>
#include <utility>

#include "absl/time/time.h"
#include "boost/asio/post.hpp"

namespace cohost::supervisor {

HostGateway::HostGateway(boost::asio::io_context& loop, const Clock& clock,
                         HostOperations& operations)
    : loop_(loop),
      clock_(clock),
      operations_(operations),
      loop_thread_(std::this_thread::get_id()),
      shared_(std::make_shared<Shared>()) {
  Build();
}

void HostGateway::Invalidate() {
  MutexLock lock(shared_->mutex);
  shared_->built_at = {};
}

void HostGateway::Build() const {
  auto snapshot = operations_.BuildSnapshot();
  {
    MutexLock lock(shared_->mutex);
    shared_->snapshot = std::move(snapshot);
    shared_->built_at = clock_.Steady();
    shared_->building = false;
  }
  shared_->built.NotifyAll();
}

std::shared_ptr<const HostSnapshot> HostGateway::snapshot() const {
  const bool on_loop = std::this_thread::get_id() == loop_thread_;
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(kSnapshotWait);
  const std::shared_ptr<Shared> shared = shared_;
  MutexLock lock(shared->mutex);
  const SteadyTime asked = clock_.Steady();
  if (asked - shared->built_at < kSnapshotAge) return shared->snapshot;
  if (on_loop) return shared->snapshot;
  if (!shared->building) {
    shared->building = true;
    boost::asio::post(loop_, [this] { Build(); });
  }
  while (shared->building && shared->built.WaitUntil(shared->mutex, deadline)) {
  }
  return shared->snapshot;
}

void HostGateway::Reload(Caller caller, ChangeAction action,
                         std::function<void(absl::StatusOr<ReloadOutcome>)> done) {
  boost::asio::post(loop_, [this, caller = std::move(caller), action, done = std::move(done)] {
    operations_.Reload(caller, action, done);
  });
}

void HostGateway::Recycle(Caller caller, std::string group, std::optional<uint32_t> slot,
                          std::function<void(absl::StatusOr<RecycleOutcome>)> done) {
  boost::asio::post(loop_,
                    [this, caller = std::move(caller), group = std::move(group), slot,
                     done = std::move(done)] { operations_.Recycle(caller, group, slot, done); });
}

void HostGateway::StopService(Caller caller, std::string name,
                              std::function<void(absl::StatusOr<uint64_t>)> done) {
  boost::asio::post(
      loop_, [this, caller = std::move(caller), name = std::move(name), done = std::move(done)] {
        operations_.StopService(caller, name, done);
      });
}

void HostGateway::StartService(Caller caller, std::string name,
                               std::function<void(absl::StatusOr<uint64_t>)> done) {
  boost::asio::post(
      loop_, [this, caller = std::move(caller), name = std::move(name), done = std::move(done)] {
        operations_.StartService(caller, name, done);
      });
}

void HostGateway::Deploy(Caller caller, DeployRequest request,
                         std::function<void(absl::StatusOr<DeployOutcome>)> done) {
  boost::asio::post(loop_, [this, caller = std::move(caller), request = std::move(request),
                            done = std::move(done)] { operations_.Deploy(caller, request, done); });
}

void HostGateway::Rollback(Caller caller, RollbackRequest request,
                           std::function<void(absl::StatusOr<DeployOutcome>)> done) {
  boost::asio::post(loop_,
                    [this, caller = std::move(caller), request = std::move(request),
                     done = std::move(done)] { operations_.Rollback(caller, request, done); });
}

void HostGateway::ReadHistory(std::string service, uint32_t limit,
                              std::function<void(absl::StatusOr<HistoryView>)> done) {
  boost::asio::post(loop_, [this, service = std::move(service), limit, done = std::move(done)] {
    operations_.ReadHistory(service, limit, done);
  });
}

void HostGateway::ExportDeployment(std::function<void(absl::StatusOr<DeploymentExport>)> done) {
  boost::asio::post(loop_, [this, done = std::move(done)] { operations_.ExportDeployment(done); });
}

void HostGateway::MaintainStore(Caller caller, bool check, bool collect,
                                std::function<void(absl::StatusOr<StoreOutcome>)> done) {
  boost::asio::post(loop_,
                    [this, caller = std::move(caller), check, collect, done = std::move(done)] {
                      operations_.MaintainStore(caller, check, collect, done);
                    });
}

void HostGateway::Plan(std::string text, std::string file_name,
                       std::function<void(absl::StatusOr<PlanOutcome>)> done) {
  boost::asio::post(loop_, [this, text = std::move(text), file_name = std::move(file_name),
                            done = std::move(done)]() mutable {
    operations_.Plan(std::move(text), std::move(file_name), std::move(done));
  });
}

void HostGateway::Validate(std::string text, std::string file_name,
                           std::function<void(std::vector<ConfigProblem>, uint32_t)> done) {
  boost::asio::post(loop_, [this, text = std::move(text), file_name = std::move(file_name),
                            done = std::move(done)]() mutable {
    operations_.Validate(std::move(text), std::move(file_name), std::move(done));
  });
}

void HostGateway::MeasureMemory(
    MemoryDepth depth,
    std::function<void(absl::StatusOr<std::shared_ptr<const HostSnapshot>>)> done) {
  boost::asio::post(
      loop_, [this, depth, done = std::move(done)] { operations_.MeasureMemory(depth, done); });
}

void HostGateway::MeasureUnshared(Caller caller, uint32_t samples,
                                  std::function<void(absl::StatusOr<UnsharedMemory>)> done) {
  boost::asio::post(loop_, [this, caller = std::move(caller), samples, done = std::move(done)] {
    operations_.MeasureUnshared(caller, samples, done);
  });
}

void HostGateway::Record(HostEvent event) {
  boost::asio::post(
      loop_, [this, event = std::move(event)]() mutable { operations_.Record(std::move(event)); });
}

void HostGateway::ReadEvents(uint64_t after_id, uint32_t last, uint32_t limit,
                             std::function<void(absl::StatusOr<std::vector<HostEvent>>)> done) {
  boost::asio::post(loop_, [this, after_id, last, limit, done = std::move(done)] {
    operations_.ReadEvents(after_id, last, limit, done);
  });
}

std::function<void()> HostGateway::SubscribeEvents(std::function<void(const HostEvent&)> event) {
  // The number is known only on the loop, and only used there.
  auto subscription = std::make_shared<uint64_t>(0);
  boost::asio::post(loop_, [this, subscription, event = std::move(event)]() mutable {
    *subscription = operations_.SubscribeEvents(std::move(event));
  });
  return [this, subscription] {
    boost::asio::post(loop_,
                      [this, subscription] { operations_.UnsubscribeEvents(*subscription); });
  };
}

}  // namespace cohost::supervisor
