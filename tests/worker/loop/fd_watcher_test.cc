// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/fd_watcher.h"

#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "base/system/seqpacket.h"
#include "gtest/gtest.h"

namespace cohost::worker {
namespace {

class FdWatcherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<SocketPair> pair = MakeStreamPair();
    ASSERT_TRUE(pair.ok());
    pair_ = *std::move(pair);
    watcher_ = std::make_unique<FdWatcher>(io_, pair_.first.get());
  }
  void Poll() {
    io_.restart();
    io_.poll();
  }

  boost::asio::io_context io_;
  SocketPair pair_;
  std::unique_ptr<FdWatcher> watcher_;
};

TEST_F(FdWatcherTest, CallsOnceForEachQuestion) {
  int calls = 0;
  watcher_->WhenReadable([&calls] { ++calls; });
  Poll();
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(::send(pair_.second.get(), "x", 1, 0), 1);
  Poll();
  EXPECT_EQ(calls, 1);
  // Nothing was read: it is readable still, and says so when it is asked again.
  Poll();
  EXPECT_EQ(calls, 1);
  watcher_->WhenReadable([&calls] { ++calls; });
  Poll();
  EXPECT_EQ(calls, 2);
}

TEST_F(FdWatcherTest, KeepsTheDirectionsApart) {
  bool readable = false;
  bool writable = false;
  watcher_->WhenReadable([&readable] { readable = true; });
  watcher_->WhenWritable([&writable] { writable = true; });
  Poll();
  EXPECT_FALSE(readable);
  EXPECT_TRUE(writable);
}

TEST_F(FdWatcherTest, TellsTheEndOfTheOtherSide) {
  bool readable = false;
  watcher_->WhenReadable([&readable] { readable = true; });
  pair_.second.Reset();
  Poll();
  EXPECT_TRUE(readable);
}

TEST_F(FdWatcherTest, CallsNothingAfterACancelOrItsDestruction) {
  bool called = false;
  ASSERT_EQ(::send(pair_.second.get(), "x", 1, 0), 1);
  watcher_->WhenReadable([&called] { called = true; });
  watcher_->Cancel();
  Poll();
  watcher_->WhenReadable([&called] { called = true; });
  watcher_.reset();
  Poll();
  EXPECT_FALSE(called);
  // The descriptor is still its owner's.
  char byte;
  EXPECT_EQ(::recv(pair_.first.get(), &byte, 1, 0), 1);
}

TEST_F(FdWatcherTest, MayBeDestroyedByItsOwnCall) {
  bool called = false;
  watcher_->WhenWritable([this, &called] {
    watcher_.reset();
    called = true;
  });
  Poll();
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace cohost::worker
