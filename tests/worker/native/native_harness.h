// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/format/segment.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/system/unique_fd.h"
#include "tests/fakes/exchange.h"
#include "tests/fakes/segment_memory.h"
#include "worker/loop/handler_pool.h"
#include "worker/loop/thread_slots.h"
#include "worker/native/native_runtime.h"
#include "worker/services/hosted_service.h"

namespace cohost::worker::native {

// A thread that runs functions one after the other, in the place of the worker's I/O loop.
class IoThread {
 public:
  IoThread();
  ~IoThread();
  void Post(std::function<void()> function);
  // Waits until it has run.
  void Run(std::function<void()> function);

 private:
  void Loop();

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> functions_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Answers calls itself: the name of the service called, and what it got. The service "silent" never
// answers, "missing" is not there.
class EchoingCallTarget final : public CallTarget {
 public:
  explicit EchoingCallTarget(IoThread& io) : io_(io) {}
  bool Serves(const std::string& service) override { return service != "missing"; }
  std::shared_ptr<PendingCall> Call(OutgoingCall call,
                                    std::function<void(CallResult)> done) override;

 private:
  IoThread& io_;
};

// One value that some thread gives and the test waits for.
template <typename T>
class Promised {
 public:
  void Give(T value) {
    MutexLock lock(mutex_);
    value_ = std::move(value);
    changed_.NotifyAll();
  }
  // Nothing when it did not come in time.
  std::optional<T> Wait(absl::Duration limit = absl::Seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit);
    MutexLock lock(mutex_);
    while (!value_) {
      if (!changed_.WaitUntil(mutex_, end)) return value_;
    }
    return value_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::optional<T> value_ ABSL_GUARDED_BY(mutex_);
};

// A worker's surroundings for native services: pool, thread slots, log, runtime, and an I/O thread,
// but no HTTP and no supervisor.
class NativeHarness {
 public:
  NativeHarness();
  ~NativeHarness();

  // A description of a service "test" of a module in tests/worker/native/modules, without ".so".
  static NativeServiceDescription Describe(const std::string& module);

  // Creates and starts a service; it is kept until the harness ends.
  absl::StatusOr<HostedService*> Start(NativeServiceDescription description);
  HostedService& MustStart(const std::string& module);
  // Sends a request to where the service's flags want it.
  std::shared_ptr<FakeExchange> Send(HostedService& service, FakeRequest request);
  // Sends it and waits for the end of the answer.
  FakeAnswer Get(HostedService& service, const std::string& target);
  void Cancel(HostedService& service, FakeExchange& exchange, CancelReason reason);
  // Whether each was done within `limit`.
  bool Drain(HostedService& service, absl::Duration limit = absl::Seconds(20));
  bool Stop(HostedService& service, absl::Duration limit = absl::Seconds(20));

  std::string LogText();
  Segment& segment() { return segment_.segment(); }
  IoThread& io() { return io_; }

 private:
  SegmentMemory segment_;
  ThreadSlots slots_;
  HandlerPool pool_;
  UniqueFd log_file_;
  Log log_;
  IoThread io_;
  EchoingCallTarget call_target_;
  NativeRuntime runtime_;
  std::vector<std::unique_ptr<HostedService>> services_;
};

}  // namespace cohost::worker::native
