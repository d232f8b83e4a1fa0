// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/callback_gate.h"

namespace cohost::worker::native {

bool CallbackGate::Enter() {
  if ((state_.fetch_add(1, std::memory_order_acquire) & kClosed) == 0) return true;
  Leave();
  return false;
}

void CallbackGate::Leave() {
  if (state_.fetch_sub(1, std::memory_order_acq_rel) != (kClosed | 1)) return;
  MutexLock lock(mutex_);
  empty_.NotifyAll();
}

void CallbackGate::CloseAndWait() {
  state_.fetch_or(kClosed, std::memory_order_acq_rel);
  MutexLock lock(mutex_);
  while (state_.load(std::memory_order_acquire) != kClosed) empty_.Wait(mutex_);
}

}  // namespace cohost::worker::native
