// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/service_calls.h"

namespace cohost::worker::native {

uint64_t ServiceCalls::Reserve() {
  MutexLock lock(mutex_);
  if (closed_ || calls_.size() >= kMaxCalls) return 0;
  calls_.emplace(++last_, Entry{});
  return last_;
}

void ServiceCalls::Started(uint64_t call, std::shared_ptr<PendingCall> pending) {
  {
    MutexLock lock(mutex_);
    const auto found = calls_.find(call);
    // Its result may have come already.
    if (found == calls_.end()) return;
    found->second.pending = pending;
    if (!found->second.cancelled) return;
  }
  pending->Cancel();
}

bool ServiceCalls::Cancel(uint64_t call) {
  std::shared_ptr<PendingCall> pending;
  {
    MutexLock lock(mutex_);
    const auto found = calls_.find(call);
    if (found == calls_.end()) return false;
    found->second.cancelled = true;
    pending = found->second.pending;
  }
  if (pending != nullptr) pending->Cancel();
  return true;
}

void ServiceCalls::Finish(uint64_t call) {
  MutexLock lock(mutex_);
  calls_.erase(call);
  if (calls_.empty()) changed_.NotifyAll();
}

void ServiceCalls::CancelAll() {
  std::vector<uint64_t> calls;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    for (const auto& [call, entry] : calls_) calls.push_back(call);
  }
  for (const uint64_t call : calls) Cancel(call);
}

void ServiceCalls::WaitUntilNone() {
  MutexLock lock(mutex_);
  while (!calls_.empty()) changed_.Wait(mutex_);
}

}  // namespace cohost::worker::native
