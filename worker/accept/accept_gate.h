// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace cohost::worker {

// How many connections a service has and may have: shared by the accept thread, which adds, and the
// I/O thread, which takes away. Thread-safe. Held by shared_ptr on both sides.
class AcceptGate {
 public:
  explicit AcceptGate(uint32_t limit) : limit_(limit) {}

  bool HasRoom() const { return open_.load() < limit_; }
  void Add() { open_.fetch_add(1); }
  // The accept thread found no room. It looks again after this, so that a connection that ends
  // between the two is not missed.
  void WaitForRoom() { waiting_.store(true); }
  // One connection less. True when the accept thread waits for that: call Acceptor::NoteRoom.
  [[nodiscard]] bool TakeAway() {
    open_.fetch_sub(1);
    return waiting_.load(std::memory_order_relaxed) && waiting_.exchange(false);
  }
  uint32_t open() const { return open_.load(std::memory_order_relaxed); }

 private:
  const uint32_t limit_;
  std::atomic<uint32_t> open_{0};
  std::atomic<bool> waiting_{false};
};

}  // namespace cohost::worker
