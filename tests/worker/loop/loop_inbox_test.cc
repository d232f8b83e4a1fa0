// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/loop_inbox.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "boost/asio/io_context.hpp"

namespace cohost::worker {
namespace {

class Item final : public InboxItem {
 public:
  void OnLoop() override {
    ++times;
    if (then) then();
  }
  int times = 0;
  std::function<void()> then;
};

TEST(LoopInbox, BringsAnItemOnceHoweverOftenItIsPushed) {
  boost::asio::io_context io{1};
  LoopInbox inbox(io);
  const auto item = std::make_shared<Item>();
  for (int i = 0; i < 5; ++i) inbox.Push(item);
  EXPECT_EQ(io.poll(), 1u);
  EXPECT_EQ(item->times, 1);
  EXPECT_EQ(item.use_count(), 1);
}

TEST(LoopInbox, AnItemPushedByItsOwnCallComesAgain) {
  boost::asio::io_context io{1};
  LoopInbox inbox(io);
  const auto item = std::make_shared<Item>();
  item->then = [&] {
    if (item->times < 3) inbox.Push(item);
  };
  inbox.Push(item);
  io.poll();
  EXPECT_EQ(item->times, 3);
  item->then = nullptr;
}

TEST(LoopInbox, ManyItemsCostOneWakeUp) {
  boost::asio::io_context io{1};
  LoopInbox inbox(io);
  std::vector<std::shared_ptr<Item>> items;
  for (int i = 0; i < 100; ++i) inbox.Push(items.emplace_back(std::make_shared<Item>()));
  EXPECT_EQ(io.poll(), 1u);
  for (const auto& item : items) EXPECT_EQ(item->times, 1);
}

TEST(LoopInbox, TakesFromManyThreads) {
  boost::asio::io_context io{1};
  LoopInbox inbox(io);
  std::vector<std::shared_ptr<Item>> items(4);
  std::vector<std::thread> threads;
  for (auto& item : items) {
    item = std::make_shared<Item>();
    threads.emplace_back([&inbox, item] {
      for (int i = 0; i < 1000; ++i) inbox.Push(item);
    });
  }
  const auto all_called = [&] {
    for (const auto& item : items) {
      if (item->times == 0) return false;
    }
    return true;
  };
  while (!all_called()) {
    io.restart();
    io.poll();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace cohost::worker
