// SPDX-License-Identifier: Apache-2.0
#include "worker/services/service_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "boost/asio/io_context.hpp"
#include "tests/fakes/clock.h"
#include "tests/fakes/segment_memory.h"

namespace cohost::worker {
namespace {

class ServiceTableTest : public ::testing::Test {
 protected:
  ServiceDescription Describe(uint64_t id) {
    ServiceDescription description;
    description.id = id;
    description.name = "s" + std::to_string(id);
    return description;
  }

  SegmentMemory memory;
  FakeClock clock;
  ThreadSlots slots{memory.segment()};
  boost::asio::io_context io{1};
  LoopInbox inbox{io};
  HandlerPool pool{slots, clock, {}};
  ServiceTable table{memory.segment(), pool, inbox, clock};
};

TEST_F(ServiceTableTest, EachServiceHasARowAndItsStateStandsThere) {
  std::vector<RowState> states;
  table.set_on_state_change([&](ServiceEntry& entry) { states.push_back(entry.state()); });
  ServiceEntry& entry = **table.Add(Describe(9));
  EXPECT_EQ(table.Find(9), &entry);
  EXPECT_EQ(table.Find(1), nullptr);
  const ServiceRow& row = memory.segment().rows[entry.row_index()];
  EXPECT_EQ(row.service_id.load(), 9u);
  EXPECT_EQ(row.state.load(), static_cast<uint32_t>(RowState::kLoading));
  table.SetState(entry, RowState::kReady);
  EXPECT_EQ(row.state.load(), static_cast<uint32_t>(RowState::kReady));
  EXPECT_EQ(states, (std::vector{RowState::kLoading, RowState::kReady}));
}

TEST_F(ServiceTableTest, AnIdIsThereOnce) {
  ASSERT_TRUE(table.Add(Describe(1)).ok());
  EXPECT_EQ(table.Add(Describe(1)).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(table.Add(Describe(0)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ServiceTableTest, ARowIsNotUsedAgain) {
  ServiceEntry& first = **table.Add(Describe(1));
  EXPECT_EQ(first.row_index(), 0u);
  ASSERT_TRUE(table.Remove(first).ok());
  EXPECT_EQ(memory.segment().rows[0].state.load(), static_cast<uint32_t>(RowState::kStopped));
  EXPECT_EQ((*table.Add(Describe(1)))->row_index(), 1u);
  for (uint64_t id = 2; id < kServiceRows; ++id) ASSERT_TRUE(table.Add(Describe(id)).ok());
  EXPECT_EQ(table.Add(Describe(5000)).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(ServiceTableTest, AServiceWithConnectionsIsNotRemoved) {
  ServiceEntry& entry = **table.Add(Describe(1));
  entry.gate()->Add();
  EXPECT_EQ(table.Remove(entry).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(entry.gate()->TakeAway());
  EXPECT_TRUE(table.Remove(entry).ok());
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(ServiceTableTest, VisitsInTheOrderOfIds) {
  for (const uint64_t id : {3, 1, 2}) ASSERT_TRUE(table.Add(Describe(id)).ok());
  std::vector<uint64_t> ids;
  table.ForEach([&](ServiceEntry& entry) { ids.push_back(entry.id()); });
  EXPECT_EQ(ids, (std::vector<uint64_t>{1, 2, 3}));
}

}  // namespace
}  // namespace cohost::worker
