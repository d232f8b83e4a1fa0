// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/mutex.h"

namespace cohost::worker::native {

// Counts who is inside a service's code, so that the service is destroyed only when nobody is.
// Thread-safe; entering is one atomic addition.
class CallbackGate {
 public:
  // False once it is closed.
  bool Enter();
  void Leave();
  // Lets nobody in any more and waits until nobody is inside: for ever, when service code hangs.
  void CloseAndWait();

 private:
  static constexpr uint64_t kClosed = uint64_t{1} << 63;

  std::atomic<uint64_t> state_{0};  // how many are inside, and kClosed
  Mutex mutex_;
  CondVar empty_;
};

// Inside the gate for a scope, when it was open.
class GateScope {
 public:
  explicit GateScope(CallbackGate& gate) : gate_(gate.Enter() ? &gate : nullptr) {}
  ~GateScope() {
    if (gate_ != nullptr) gate_->Leave();
  }
  GateScope(const GateScope&) = delete;
  GateScope& operator=(const GateScope&) = delete;
  explicit operator bool() const { return gate_ != nullptr; }

 private:
  CallbackGate* const gate_;
};

}  // namespace cohost::worker::native
