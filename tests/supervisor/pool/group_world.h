// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "boost/asio/io_context.hpp"
#include "supervisor/loop/timers.h"
#include "supervisor/pool/slot.h"
#include "tests/fakes/descriptor_holder.h"
#include "tests/fakes/manual_time.h"
#include "tests/fakes/workers.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {

// What is around slots and groups when there is no pool: the test decides what a pool would.
class GroupWorld final : public PoolObserver, public GroupHost {
 public:
  GroupWorld();

  // Runs everything that can happen now, `converge` whenever somebody has asked for it.
  void Settle();
  // The same, then the clock goes on, timer by timer.
  void Pass(absl::Duration duration);

  std::shared_ptr<ServiceTarget> Service(uint64_t id, uint64_t revision = 1);
  static GroupTarget Group(std::vector<std::shared_ptr<const ServiceTarget>> services,
                           uint32_t workers = 1);
  // What the keeper holds for a generation, as the next supervisor gets it.
  HeldEntry Held(const GenerationId& id) const;
  FakeWorker* worker(uint32_t slot, uint32_t generation);
  bool Told(const std::string& kind, const std::string& part) const;

  // GroupHost
  bool MayRemove(const std::string&, uint64_t service_id) const override {
    return !unremovable.contains(service_id);
  }
  bool MayAssign(const std::string&, const ServiceTarget& service) const override {
    return !unassignable.contains(service.id);
  }
  bool IsOverloaded() const override { return false; }
  void RearmSiblings(const Generation&) override {}
  void FoldAndRelease(const GenerationId& id, SegmentReader* segment) override;
  void CountRestart(const GenerationId& id, RecycleReason reason) override {
    restarts.emplace_back(id, reason);
  }
  uint32_t LastGeneration(const std::string&, uint32_t) const override { return last_generation; }
  void Changed() override;
  // PoolObserver
  void OnPoolEvent(const PoolEvent& event) override { events.push_back(event); }
  void OnPoolChanged() override {}

  ManualTime time;
  FakeWorkers workers;
  FakeDescriptorHolder holder;
  // What the pool would do.
  std::function<void()> converge;
  std::function<void(const GenerationId&, const ExitRecord&)> on_exit;
  std::set<uint64_t> unremovable;
  std::set<uint64_t> unassignable;
  uint32_t last_generation = 0;
  // What it was told.
  std::vector<PoolEvent> events;
  std::vector<std::pair<GenerationId, RecycleReason>> restarts;
  std::vector<GenerationId> folded;
  boost::asio::io_context loop;
  PoolParts parts;

 private:
  bool Step();

  testing::TemporaryFolder folder_;
  std::map<uint64_t, UniqueFd> listeners_;
  Timer converge_timer_{time};
};

}  // namespace cohost::supervisor
