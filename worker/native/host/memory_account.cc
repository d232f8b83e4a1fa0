// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/memory_account.h"

#include <algorithm>
#include <cstdlib>

namespace cohost::worker::native {
namespace {

constexpr size_t kLargestAlignment = 4096;
constexpr size_t kLargestSize = size_t{1} << 46;

// Stands right before the memory that the module got.
struct alignas(16) Header {
  uint64_t counted;  // bytes taken from the account
  uint64_t offset;   // from what the allocator gave
};

Header* HeaderOf(void* memory) { return static_cast<Header*>(memory) - 1; }

}  // namespace

void* MemoryAccount::Allocate(size_t size, size_t alignment) {
  if (alignment == 0) alignment = alignof(Header);
  const bool power_of_two = (alignment & (alignment - 1)) == 0;
  if (!power_of_two || alignment > kLargestAlignment || size > kLargestSize) return nullptr;
  alignment = std::max(alignment, alignof(Header));
  const size_t offset = std::max(alignment, sizeof(Header));
  // aligned_alloc wants a multiple of the alignment.
  const size_t whole = (offset + size + alignment - 1) / alignment * alignment;
  if (!Take(whole)) return nullptr;
  char* memory = static_cast<char*>(std::aligned_alloc(alignment, whole));
  if (memory == nullptr) {
    used_.fetch_sub(whole, std::memory_order_relaxed);
    return nullptr;
  }
  *HeaderOf(memory + offset) = Header{whole, offset};
  return memory + offset;
}

void MemoryAccount::Free(void* memory) {
  if (memory == nullptr) return;
  const Header header = *HeaderOf(memory);
  used_.fetch_sub(header.counted, std::memory_order_relaxed);
  std::free(static_cast<char*>(memory) - header.offset);
}

bool MemoryAccount::Take(uint64_t bytes) {
  const uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (limit_ == 0 || before + bytes <= limit_) return true;
  used_.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

}  // namespace cohost::worker::native
