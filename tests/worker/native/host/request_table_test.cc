// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/request_table.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>

#include "tests/fakes/exchange.h"

namespace cohost::worker::native {
namespace {

// The table only compares the address of a service.
ServiceHost& Service(int which) {
  static std::array<char, 2> services;
  return reinterpret_cast<ServiceHost&>(services[which]);
}

std::shared_ptr<FakeExchange> NewExchange() {
  FakeRequest request;
  request.headers = {{"A", "1"}, {"a", "2"}};
  return std::make_shared<FakeExchange>(request, [](std::function<void()> run) { run(); });
}

TEST(RequestTable, FindsWhatItHoldsAndForgetsWhatIsRemoved) {
  RequestTable table;
  const auto exchange = NewExchange();
  const cohost_request request = table.Add(exchange, Service(0));
  ASSERT_NE(request, 0u);
  EXPECT_EQ(table.Find(request).exchange, exchange);
  EXPECT_EQ(table.Find(request).service, &Service(0));
  EXPECT_TRUE(table.Remove(request));
  EXPECT_FALSE(table.Remove(request));
  EXPECT_FALSE(table.Find(request));
  EXPECT_EQ(exchange.use_count(), 1);
}

TEST(RequestTable, ANumberIsNeverUsedAgain) {
  RequestTable table;
  std::set<cohost_request> numbers;
  for (int i = 0; i < 1000; ++i) {
    const cohost_request request = table.Add(NewExchange(), Service(0));
    EXPECT_TRUE(numbers.insert(request).second);
    EXPECT_TRUE(table.Remove(request));
  }
  const cohost_request last = table.Add(NewExchange(), Service(0));
  for (const cohost_request old : numbers) EXPECT_FALSE(table.Find(old));
  EXPECT_TRUE(table.Find(last));
}

TEST(RequestTable, NumbersThatWereNeverGivenOutAreUnknown) {
  RequestTable table;
  const cohost_request request = table.Add(NewExchange(), Service(0));
  for (const cohost_request other :
       {cohost_request{0}, cohost_request{1}, request + 1, request + (1 << 16), ~uint64_t{0}}) {
    EXPECT_FALSE(table.Find(other)) << other;
    EXPECT_FALSE(table.Remove(other)) << other;
    EXPECT_FALSE(table.SetData(other, &table)) << other;
    EXPECT_EQ(table.Data(other), nullptr) << other;
    EXPECT_FALSE(table.MarkCancelled(other)) << other;
    EXPECT_EQ(table.Headers(other), nullptr) << other;
  }
}

TEST(RequestTable, IsBounded) {
  RequestTable table;
  const auto exchange = NewExchange();
  cohost_request last = 0;
  for (uint32_t i = 0; i < RequestTable::kMaxRequests; ++i) {
    last = table.Add(exchange, Service(0));
    ASSERT_NE(last, 0u);
  }
  EXPECT_EQ(table.Add(exchange, Service(0)), 0u);
  EXPECT_TRUE(table.Remove(last));
  EXPECT_NE(table.Add(exchange, Service(0)), 0u);
}

TEST(RequestTable, ACancelledOneIsKeptUntilItIsLetGo) {
  RequestTable table;
  const cohost_request request = table.Add(NewExchange(), Service(0));
  EXPECT_TRUE(table.SetData(request, &table));
  EXPECT_TRUE(table.MarkCancelled(request));
  EXPECT_TRUE(table.Find(request).cancelled);
  EXPECT_EQ(table.Data(request), &table);
  EXPECT_EQ(table.Headers(request)->size(), 2u);
  EXPECT_TRUE(table.Remove(request).cancelled);
}

TEST(RequestTable, RemovesAllOfOneService) {
  RequestTable table;
  const cohost_request first = table.Add(NewExchange(), Service(0));
  const cohost_request other = table.Add(NewExchange(), Service(1));
  table.RemoveAll(Service(0));
  EXPECT_FALSE(table.Find(first));
  EXPECT_TRUE(table.Find(other));
  EXPECT_EQ(table.size(), 1u);
}

}  // namespace
}  // namespace cohost::worker::native
