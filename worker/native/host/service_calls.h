// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "worker/services/exchange.h"

namespace cohost::worker::native {

// A request that one service sends to another of the same worker. Owns its bytes.
struct OutgoingCall {
  std::string service;
  std::string method;
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  SteadyTime start;
  SteadyTime deadline;
  uint64_t max_answer_size = 0;
};

// What a call came to. `status` as cohost_call_callback describes it.
struct CallResult {
  int32_t status = 0;
  uint32_t http_status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// A call on its way; ends by itself at its deadline.
class PendingCall {
 public:
  virtual ~PendingCall() = default;
  // Ends it with COHOST_CANCELLED unless its result is there already. Any thread.
  virtual void Cancel() = 0;
};

// Takes calls to the services of this worker, on the path and under the limits of their other
// requests. Implemented by the worker over its service table; thread-safe.
class CallTarget {
 public:
  virtual ~CallTarget() = default;
  // Whether a service of that name can be called now.
  virtual bool Serves(const std::string& service) = 0;
  // `done` is called once, on the I/O thread, also when the service is gone by then.
  virtual std::shared_ptr<PendingCall> Call(OutgoingCall call,
                                            std::function<void(CallResult)> done) = 0;
};

// The calls of one service that are on their way. Thread-safe.
class ServiceCalls {
 public:
  static constexpr size_t kMaxCalls = 4096;

  // A number that is never 0, or 0 when kMaxCalls are on their way or after CancelAll.
  uint64_t Reserve();
  void Started(uint64_t call, std::shared_ptr<PendingCall> pending);
  // Its result was reported to the module.
  void Finish(uint64_t call);
  // False when its result was reported already.
  bool Cancel(uint64_t call);
  // Refuses new ones and cancels all.
  void CancelAll();
  // Waits until every result was reported.
  void WaitUntilNone();

 private:
  struct Entry {
    std::shared_ptr<PendingCall> pending;
    bool cancelled = false;
  };

  Mutex mutex_;
  CondVar changed_;
  std::map<uint64_t, Entry> calls_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace cohost::worker::native
