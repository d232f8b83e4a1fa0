// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/memory_account.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace cohost::worker::native {
namespace {

TEST(MemoryAccount, CountsWhatIsTakenAndGivenBack) {
  MemoryAccount account(Bytes{0});
  void* memory = account.Allocate(1000, 0);
  ASSERT_NE(memory, nullptr);
  std::memset(memory, 1, 1000);
  EXPECT_GE(account.used(), 1000u);
  account.Free(memory);
  account.Free(nullptr);
  EXPECT_EQ(account.used(), 0u);
}

TEST(MemoryAccount, RefusesWhatTheLimitDoesNotHold) {
  MemoryAccount account(KiB(64));
  void* first = account.Allocate(60 << 10, 0);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(account.Allocate(8 << 10, 0), nullptr);
  account.Free(first);
  void* second = account.Allocate(8 << 10, 0);
  EXPECT_NE(second, nullptr);
  account.Free(second);
}

TEST(MemoryAccount, AlignsAsAsked) {
  MemoryAccount account(Bytes{0});
  for (const size_t alignment : {1, 2, 8, 16, 64, 4096}) {
    void* memory = account.Allocate(100, alignment);
    ASSERT_NE(memory, nullptr) << alignment;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0u);
    std::memset(memory, 2, 100);
    account.Free(memory);
  }
  EXPECT_EQ(account.used(), 0u);
}

TEST(MemoryAccount, HostileSizesAndAlignmentsGiveNull) {
  MemoryAccount account(Bytes{0});
  EXPECT_EQ(account.Allocate(SIZE_MAX, 0), nullptr);
  EXPECT_EQ(account.Allocate(SIZE_MAX - 8, 4096), nullptr);
  EXPECT_EQ(account.Allocate(10, 3), nullptr);
  EXPECT_EQ(account.Allocate(10, 8192), nullptr);
  EXPECT_EQ(account.used(), 0u);
}

}  // namespace
}  // namespace cohost::worker::native
