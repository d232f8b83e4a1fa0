// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/unique_fd.h"
#include "boost/asio/io_context.hpp"
#include "tests/fakes/clock.h"
#include "tests/fakes/hosted_service.h"
#include "tests/fakes/segment_memory.h"
#include "worker/http/http_server.h"
#include "worker/loop/deadline_queue.h"
#include "worker/loop/handler_pool.h"
#include "worker/loop/loop_inbox.h"
#include "worker/loop/thread_slots.h"
#include "worker/services/service_table.h"

namespace cohost::worker {

// The host's side of HTTP in one process and on one thread, with a clock of the test's. Clients are
// the other ends of socketpairs.
class HttpHarness {
 public:
  HttpHarness();
  ~HttpHarness();

  ServiceEntry& AddService(Dispatch dispatch, FakeHostedService::Handler handler,
                           ServiceLimits limits = {});
  // The HostedService that AddService made.
  FakeHostedService& hosted(ServiceEntry& entry);

  // Runs everything that is ready.
  void Poll();
  // Runs the loop until `condition` holds; false after 20 s of real time.
  [[nodiscard]] bool RunUntil(const std::function<bool()>& condition);
  // Moves the clock and calls what is due.
  void Advance(absl::Duration duration);

  FakeClock clock;
  SegmentMemory memory;
  Segment& segment = memory.segment();
  ThreadSlots slots{segment};
  boost::asio::io_context io{1};
  LoopInbox inbox{io};
  DeadlineQueue deadlines{io, clock};
  HandlerPool pool{slots, clock, HandlerPool::Options{.max_threads = 8}};
  ServiceTable table{segment, pool, inbox, clock};
  std::vector<uint64_t> rooms;
  std::vector<std::string> access_log;
  std::unique_ptr<HttpServer> server;

 private:
  uint64_t next_id_ = 1;
};

// One client connection.
class HttpTestClient {
 public:
  HttpTestClient(HttpHarness& harness, ServiceEntry& entry, Arrival arrival = Arrival::kAdopted);

  // Sends everything, running the loop when the socket is full; the loop has come to rest after it.
  void Send(std::string_view bytes);
  // Everything that has come, with the values of Date fields replaced by "D".
  std::string Receive();
  // Send and Receive.
  std::string Ask(std::string_view bytes);
  // Whether the server has closed, after everything has been received.
  bool closed();
  void CloseWrite();
  void Close() { fd_.Reset(); }
  int fd() const { return fd_.get(); }

 private:
  HttpHarness& harness_;
  UniqueFd fd_;
};

// `text` with every "Date: ..." value replaced by "D".
std::string WithoutDates(std::string text);

}  // namespace cohost::worker
