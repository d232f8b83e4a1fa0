// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "worker/sdk/cohost.h"
#include "worker/services/exchange.h"

namespace cohost::worker::native {

class ServiceHost;

// The requests that modules hold, by the number that they know them by. A number is used once in
// the life of the process, so one that was answered, or never given out, is recognised. One table
// per process (numbers are passed through a C interface that names no table). Thread-safe: one
// short lock per request, and another one for a moment when a request comes and when it goes.
class RequestTable {
 public:
  static constexpr uint32_t kMaxRequests = 65536;

  // What a number stands for.
  struct Found {
    std::shared_ptr<Exchange> exchange;
    ServiceHost* service = nullptr;
    // The exchange has ended without the module: it is still to let go of the number.
    bool cancelled = false;
    explicit operator bool() const { return exchange != nullptr; }
  };

  static RequestTable& Process();

  // 0 when kMaxRequests are held.
  cohost_request Add(std::shared_ptr<Exchange> exchange, ServiceHost& service);
  Found Find(cohost_request request) const;
  // Forgets the number; nothing when it is not known.
  Found Remove(cohost_request request);
  void RemoveAll(ServiceHost& service);

  // False when the number is not known.
  bool MarkCancelled(cohost_request request);
  bool SetData(cohost_request request, void* data);
  void* Data(cohost_request request) const;

  // The headers in the C layout; they stay where they are until the number is removed. Null when it
  // is not known.
  const std::vector<cohost_header>* Headers(cohost_request request);
  const std::vector<cohost_header>* Trailers(cohost_request request);

  // How many are held.
  uint32_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  // A number is the slot in the lower 16 bits and the slot's use above, counted from 1.
  static constexpr uint32_t kSlotBits = 16;
  // Slots are made by the chunk, so that a worker with few requests pays for few.
  static constexpr uint32_t kChunkSlots = 32;

  struct Slot {
    mutable Mutex mutex;
    cohost_request number ABSL_GUARDED_BY(mutex) = 0;  // 0: free
    uint64_t uses ABSL_GUARDED_BY(mutex) = 0;
    std::shared_ptr<Exchange> exchange ABSL_GUARDED_BY(mutex);
    ServiceHost* service ABSL_GUARDED_BY(mutex) = nullptr;
    void* data ABSL_GUARDED_BY(mutex) = nullptr;
    bool cancelled ABSL_GUARDED_BY(mutex) = false;
    // Views for the module; their memory is used again by the slot's next request.
    std::vector<cohost_header> headers ABSL_GUARDED_BY(mutex);
    std::vector<cohost_header> trailers ABSL_GUARDED_BY(mutex);
  };
  using Chunk = std::array<Slot, kChunkSlots>;

  // Null when no chunk reaches to it.
  Slot* SlotOf(cohost_request request) const;
  Found Clear(Slot& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(slot.mutex);
  void Release(uint32_t index);

  // Set once each, never changed.
  std::array<std::atomic<Chunk*>, kMaxRequests / kChunkSlots> chunks_{};
  std::atomic<uint32_t> size_{0};

  Mutex mutex_;
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mutex_);
  uint32_t chunk_count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Chunk>> owned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::worker::native
