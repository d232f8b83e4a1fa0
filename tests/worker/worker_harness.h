// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/system/unique_fd.h"
#include "boost/asio/io_context.hpp"
#include "tests/fakes/segment_memory.h"
#include "worker/accept/listener_book.h"
#include "worker/loop/deadline_queue.h"
#include "worker/loop/thread_slots.h"
#include "worker/worker_parts.h"

namespace cohost::worker {

// A service that does what the test says. Without orders it starts, drains and stops at once, is
// healthy, and answers every request 200.
class ScriptedService final : public HostedService {
 public:
  void Start(std::function<void(absl::Status)> done) override;
  SteadyTime last_progress() const override { return {progress.load()}; }
  Dispatch dispatch() const override { return dispatch_to; }
  void Handle(std::shared_ptr<Exchange> exchange) override;
  void Ended(Exchange&, const CancelReason* cancelled) override;
  void Drain(std::function<void()> done) override;
  void Stop(std::function<void()> done) override;
  HealthAnswer Health() override { return health ? health() : HealthAnswer(); }
  std::vector<ModuleMetricValue> Metrics() override { return {}; }
  uint64_t metrics_dropped() const override { return 0; }
  uint64_t allocated_bytes() const override { return 0; }
  uint32_t timers() const override { return 0; }

  // Orders, given before the worker gets to them. A step that is held keeps its `done`.
  Dispatch dispatch_to = Dispatch::kInline;
  std::function<void(std::shared_ptr<Exchange>)> handle;
  std::function<HealthAnswer()> health;
  std::atomic<int64_t> progress{0};
  bool hold_start = false;
  bool hold_drain = false;
  bool hold_stop = false;
  std::function<void(absl::Status)> start_done;
  std::function<void()> drain_done;
  std::function<void()> stop_done;

  // What came, in its order: "start", "GET /", "cancelled 3", "drain", "stop". I/O thread only, and
  // so are requests that are not inline left out.
  std::vector<std::string> calls;
};

// The steady clock of the machine, which a test can set forward. Thread-safe.
class ShiftedClock final : public Clock {
 public:
  SteadyTime Steady() const override {
    return SystemClock().Steady() + absl::Nanoseconds(shift_.load());
  }
  absl::Time Wall() const override { return SystemClock().Wall(); }
  void Shift(absl::Duration by) { shift_ += absl::ToInt64Nanoseconds(by); }

 private:
  std::atomic<int64_t> shift_{0};
};

// Everything that loading, probing and removing services work with, on the test's own loop.
class WorkerHarness {
 public:
  WorkerHarness();
  // Pool threads must be able to end.
  ~WorkerHarness();

  // A service with `id`, still kLoading, that the test commands.
  ServiceEntry& AddService(uint64_t id, std::vector<ServiceEndpoint> endpoints = {});
  static ScriptedService& Scripted(ServiceEntry& entry) {
    return static_cast<ScriptedService&>(*entry.hosted());
  }
  // As the worker does when a service is ready.
  void MakeReady(ServiceEntry& entry);

  // Runs everything that is ready.
  void Poll();
  // Runs the loop until `condition` holds; false after 20 s.
  [[nodiscard]] bool RunUntil(const std::function<bool()>& condition);

  // The other end of a fresh connection that the HTTP server serves; `request` has been sent.
  UniqueFd Connect(ServiceEntry& entry, const std::string& request);

  ShiftedClock clock;
  UniqueFd null;
  Log log;
  SegmentMemory memory;
  boost::asio::io_context io{1};
  ThreadSlots slots;
  HandlerPool pool;
  LoopInbox inbox;
  DeadlineQueue deadlines;
  ServiceTable table;
  HttpServer http;
  // What the accept thread has handed to the loop: service ids.
  std::vector<uint64_t> accepted;
  Acceptor acceptor;
  InternalCalls calls;
  ListenerBook listeners;
  WorkerParts parts;
};

inline constexpr const char* kGetRequest = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

// A listener on the loopback address, non-blocking, as the supervisor makes them.
UniqueFd MakeListener();
UniqueFd ConnectTo(const UniqueFd& listener);

}  // namespace cohost::worker
