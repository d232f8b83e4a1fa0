// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace cohost::worker::native {

// The memory that a service took from the SDK's alloc, against its limit. Thread-safe. Memory may
// be given back as long as the account lives.
class MemoryAccount {
 public:
  // A limit of 0 bytes is none.
  explicit MemoryAccount(Bytes limit) : limit_(limit.count) {}

  // Null when the limit or the machine has no more, or `alignment` is neither 0 (16) nor a power of
  // two up to 4096.
  void* Allocate(size_t size, size_t alignment);
  // Null is ignored.
  void Free(void* memory);

  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  bool Take(uint64_t bytes);

  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

}  // namespace cohost::worker::native
