// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "boost/asio/io_context.hpp"
#include "supervisor/pool/pool.h"
#include "tests/fakes/descriptor_holder.h"
#include "tests/fakes/manual_time.h"
#include "tests/fakes/workers.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {

// A pool with fakes around it, and the words that its tests are written in. Supervisors come and go
// (Die, Begin); workers, holder and time stay.
class PoolWorld final : public PoolObserver {
 public:
  PoolWorld();
  ~PoolWorld() override;

  // The first supervisor, or one that adopts what the last has left.
  void Begin();
  // As by kill -9: nothing is said to anybody.
  void Die() { pool_.reset(); }

  // Runs everything that can happen now.
  void Settle();
  // The same, then the clock goes on, timer by timer.
  void Pass(absl::Duration duration);
  // One round of everything.
  bool Step();

  std::shared_ptr<ServiceTarget> Service(uint64_t id, uint64_t revision = 1);
  static GroupTarget Group(const std::string& name,
                           std::vector<std::shared_ptr<const ServiceTarget>> services,
                           uint32_t workers = 1);
  void Apply(std::vector<GroupTarget> groups);

  HostSnapshot Snapshot();
  ServiceView ServiceOf(uint64_t id);
  // The state of each worker: "g/0/1 ready".
  std::vector<std::string> States();
  uint64_t Requests(uint64_t service_id) { return ServiceOf(service_id).totals.finished; }
  bool Told(const std::string& kind, const std::string& part) const;

  Pool& pool() { return *pool_; }
  FakeWorker& worker(const std::string& name) { return *workers.Find("worker/" + name); }

  // PoolObserver
  void OnPoolEvent(const PoolEvent& event) override { events.push_back(event); }
  void OnPoolChanged() override {}

  ManualTime time;
  FakeWorkers workers;
  FakeDescriptorHolder holder;
  std::vector<PoolEvent> events;
  PoolSettings settings;

 private:
  testing::TemporaryFolder folder_;
  boost::asio::io_context loop_;
  std::map<uint64_t, UniqueFd> listeners_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace cohost::supervisor
