// SPDX-License-Identifier: Apache-2.0
#include "worker/http/exchange_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "boost/asio/io_context.hpp"
#include "tests/fakes/segment_memory.h"

namespace cohost::worker {
namespace {

class ExchangePoolTest : public ::testing::Test {
 protected:
  SegmentMemory memory;
  ThreadSlots slots{memory.segment()};
  boost::asio::io_context io{1};
  LoopInbox inbox{io};
};

TEST_F(ExchangePoolTest, UsesAnExchangeAgainWhenNobodyHoldsIt) {
  ExchangePool pool(inbox, slots);
  std::shared_ptr<HttpExchange> first = pool.Take();
  const HttpExchange* address = first.get();
  ASSERT_EQ(first->Open("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n", "unix", SteadyTime{5}), 0u);
  first->runtime_tag = 9;
  const std::shared_ptr<Exchange> held = first;
  first.reset();
  EXPECT_NE(pool.Take().get(), address) << "somebody still reads it";
  EXPECT_EQ(held->target(), "/1");
}

TEST_F(ExchangePoolTest, AnExchangeComesBackClean) {
  ExchangePool pool(inbox, slots);
  std::shared_ptr<HttpExchange> exchange = pool.Take();
  const HttpExchange* address = exchange.get();
  exchange->runtime_tag = 9;
  exchange->EndForService();
  // The last reference goes on another thread.
  std::thread([moved = std::move(exchange)]() mutable { moved.reset(); }).join();
  exchange = pool.Take();
  EXPECT_EQ(exchange.get(), address);
  EXPECT_EQ(exchange->runtime_tag, 0u);
  EXPECT_FALSE(exchange->state().complete);
  EXPECT_EQ(std::static_pointer_cast<Exchange>(exchange), exchange->shared_from_this());
}

TEST_F(ExchangePoolTest, ExchangesMayOutliveIt) {
  std::shared_ptr<HttpExchange> exchange;
  {
    ExchangePool pool(inbox, slots);
    exchange = pool.Take();
  }
  EXPECT_FALSE(exchange->state().complete);
}

}  // namespace
}  // namespace cohost::worker
