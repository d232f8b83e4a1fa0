// SPDX-License-Identifier: Apache-2.0
#include "worker/native/loader/module_threads.h"

#include <gtest/gtest.h>

#include "tests/fakes/segment_memory.h"
#include "tests/worker/native/native_harness.h"

namespace cohost::worker::native {
namespace {

constexpr uint32_t kRow = 5;

class ModuleThreadsTest : public ::testing::Test {
 protected:
  SegmentMemory segment_;
  ThreadSlots slots_{segment_.segment()};
  ModuleThreads threads_{slots_, kRow, SystemClock()};
};

struct Probe {
  ThreadSlots* slots;
  Promised<uint32_t> row;
};
void TellRow(void* data) {
  auto* probe = static_cast<Probe*>(data);
  probe->row.Give(probe->slots->Current().row.load());
}
void WaitForGo(void* data) { (void)static_cast<Promised<bool>*>(data)->Wait(); }

TEST_F(ModuleThreadsTest, AThreadWorksForItsService) {
  Probe probe{&slots_, {}};
  cohost_thread thread = 0;
  ASSERT_EQ(threads_.Spawn("probe", TellRow, &probe, &thread), COHOST_OK);
  EXPECT_EQ(probe.row.Wait(), kRow);
  EXPECT_EQ(threads_.Join(thread), COHOST_OK);
  EXPECT_EQ(threads_.Join(thread), COHOST_GONE);
}

TEST_F(ModuleThreadsTest, AtMost256RunAtATime) {
  Promised<bool> go;
  for (size_t i = 0; i < ModuleThreads::kMaxThreads; ++i) {
    ASSERT_EQ(threads_.Spawn("wait", WaitForGo, &go, nullptr), COHOST_OK);
  }
  EXPECT_EQ(threads_.Spawn("wait", WaitForGo, &go, nullptr), COHOST_LIMIT);
  EXPECT_EQ(threads_.Close(), ModuleThreads::kMaxThreads);
  EXPECT_EQ(threads_.Spawn("wait", WaitForGo, &go, nullptr), COHOST_GONE);
  go.Give(true);
  for (cohost_thread thread = 1; thread <= ModuleThreads::kMaxThreads; ++thread) {
    EXPECT_EQ(threads_.Join(thread), COHOST_OK);
  }
}

TEST_F(ModuleThreadsTest, JoiningIsRefusedWhereItWouldBlockOthers) {
  Promised<bool> go;
  cohost_thread thread = 0;
  ASSERT_EQ(threads_.Spawn("wait", WaitForGo, &go, &thread), COHOST_OK);
  {
    const ScopedPlace place(ThreadPlace::kIo);
    EXPECT_EQ(threads_.Join(thread), COHOST_INVALID);
  }
  go.Give(true);
  EXPECT_EQ(threads_.Join(thread), COHOST_OK);
}

struct SelfJoin {
  ModuleThreads* threads;
  Promised<cohost_thread> self;
  Promised<cohost_status> result;
};
void JoinSelf(void* data) {
  auto* probe = static_cast<SelfJoin*>(data);
  probe->result.Give(probe->threads->Join(*probe->self.Wait()));
}

TEST_F(ModuleThreadsTest, AThreadCannotJoinItself) {
  SelfJoin probe{&threads_, {}, {}};
  cohost_thread thread = 0;
  ASSERT_EQ(threads_.Spawn("self", JoinSelf, &probe, &thread), COHOST_OK);
  probe.self.Give(thread);
  EXPECT_EQ(probe.result.Wait(), COHOST_INVALID);
  EXPECT_EQ(threads_.Join(thread), COHOST_OK);
}

TEST_F(ModuleThreadsTest, EnteringNestsAndUnknownNumbersChangeNothing) {
  const auto row = [this] { return slots_.Current().row.load(); };
  slots_.Exchange({ThreadState::kIdle, kNoRow, {}});
  const uint64_t outer = EnterService(slots_, 1, SystemClock().Steady());
  const uint64_t inner = EnterService(slots_, 2, SystemClock().Steady());
  EXPECT_EQ(row(), 2u);
  LeaveService(inner);
  EXPECT_EQ(row(), 1u);
  LeaveService(inner);
  LeaveService(0);
  EXPECT_EQ(row(), 1u);
  (void)EnterService(slots_, 3, SystemClock().Steady());
  LeaveService(outer);
  EXPECT_EQ(row(), kNoRow);
}

}  // namespace
}  // namespace cohost::worker::native
