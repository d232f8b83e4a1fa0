// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/stream/stream_poller.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool Eventually(const std::function<bool()>& condition) {
  const auto end = steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}

class CountingPolled final : public Polled {
 public:
  explicit CountingPolled(std::function<void()> work = nullptr) : work_(std::move(work)) {}
  void Poll() override {
    ++polls;
    if (work_) work_();
  }
  std::atomic<int> polls{0};

 private:
  const std::function<void()> work_;
};

TEST(StreamPoller, PollsSoonAndAgainAndAgain) {
  StreamPoller poller;
  const auto polled = std::make_shared<CountingPolled>();
  const auto begin = steady_clock::now();
  poller.Add(polled);
  ASSERT_TRUE(Eventually([&] { return polled->polls >= 1; }));
  ASSERT_TRUE(Eventually([&] { return polled->polls >= 4; }));
  // Three intervals lie between the first and the fourth.
  EXPECT_GE(steady_clock::now() - begin, milliseconds(500));
}

TEST(StreamPoller, WakingPollsAllBeforeTheirTime) {
  StreamPoller poller;
  std::vector<std::shared_ptr<CountingPolled>> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(std::make_shared<CountingPolled>());
    poller.Add(all.back());
  }
  ASSERT_TRUE(Eventually([&] { return all[2]->polls >= 1; }));
  const auto begin = steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    const int before = all[2]->polls;
    poller.Wake();
    ASSERT_TRUE(Eventually([&] { return all[2]->polls > before; }));
  }
  EXPECT_LT(steady_clock::now() - begin, milliseconds(100 * 200)) << "not at their interval";
  for (const auto& polled : all) EXPECT_GE(polled->polls, 100);
}

TEST(StreamPoller, ForgetsWhatNobodyOwnsAndGoesOnWithTheRest) {
  StreamPoller poller;
  auto leaving = std::make_shared<CountingPolled>();
  const auto staying = std::make_shared<CountingPolled>();
  poller.Add(leaving);
  poller.Add(staying);
  ASSERT_TRUE(Eventually([&] { return leaving->polls >= 1 && staying->polls >= 1; }));
  const std::weak_ptr<CountingPolled> gone = leaving;
  leaving.reset();
  ASSERT_TRUE(Eventually([&] { return gone.expired(); })) << "the poller does not keep it";
  const int before = staying->polls;
  EXPECT_TRUE(Eventually([&] { return staying->polls > before; }));
}

TEST(StreamPoller, WhatComesAfterAllHaveLeftIsPolled) {
  StreamPoller poller;
  auto first = std::make_shared<CountingPolled>();
  poller.Add(first);
  ASSERT_TRUE(Eventually([&] { return first->polls >= 1; }));
  first.reset();
  poller.Wake();
  const auto second = std::make_shared<CountingPolled>();
  poller.Add(second);
  EXPECT_TRUE(Eventually([&] { return second->polls >= 1; }));
}

TEST(StreamPoller, APollMayAddAndWake) {
  StreamPoller poller;
  const auto added = std::make_shared<CountingPolled>();
  std::atomic<bool> once{false};
  const auto adding = std::make_shared<CountingPolled>([&] {
    if (!once.exchange(true)) poller.Add(added);
    poller.Wake();
  });
  poller.Add(adding);
  EXPECT_TRUE(Eventually([&] { return added->polls >= 2; }));
}

TEST(StreamPoller, ItsEndWaitsForThePollThatRunsAndNoneComesAfter) {
  std::atomic<bool> inside{false};
  std::atomic<bool> release{false};
  std::atomic<bool> left{false};
  const auto polled = std::make_shared<CountingPolled>([&] {
    inside = true;
    while (!release) std::this_thread::yield();
    left = true;
  });
  auto poller = std::make_unique<StreamPoller>();
  poller->Add(polled);
  ASSERT_TRUE(Eventually([&] { return inside.load(); }));
  std::thread releasing([&] { release = true; });
  poller.reset();
  EXPECT_TRUE(left);
  releasing.join();
  EXPECT_EQ(polled->polls, 1);
}

TEST(StreamPoller, OneThatWasNeverUsedEnds) {
  StreamPoller poller;
  poller.Wake();
}

TEST(StreamPoller, StreamsComeAndGoOnManyThreads) {
  StreamPoller poller;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&poller] {
      for (int round = 0; round < 200; ++round) {
        const auto polled = std::make_shared<CountingPolled>();
        poller.Add(polled);
        if (round % 20 == 0) {
          EXPECT_TRUE(Eventually([&] { return polled->polls >= 1; }));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace cohost::supervisor
