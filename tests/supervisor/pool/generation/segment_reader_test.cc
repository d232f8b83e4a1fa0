// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/segment_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/pool/generation/sealed_memory.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A segment with the worker's writable view beside the supervisor's.
class SegmentReaderTest : public ::testing::Test {
 protected:
  SegmentReaderTest() {
    auto made = SegmentReader::Create(5);
    EXPECT_TRUE(made.ok()) << made.status();
    fd_ = std::move(made->first);
    reader_ = std::move(made->second);
    worker_ = static_cast<Segment*>(
        mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
  }
  ~SegmentReaderTest() override { munmap(worker_, sizeof(Segment)); }

  void Serve(uint32_t row, uint64_t service_id, RowState state = RowState::kReady) {
    worker_->rows[row].service_id = service_id;
    worker_->rows[row].state = static_cast<uint32_t>(state);
  }

  UniqueFd fd_;
  std::unique_ptr<SegmentReader> reader_;
  Segment* worker_;
};

TEST_F(SegmentReaderTest, AFreshSegmentIsWholeAndSealed) {
  EXPECT_TRUE(IsReadableSegment(*worker_));
  EXPECT_EQ(worker_->header.generation, 5);
  EXPECT_NE(ftruncate(fd_.get(), 0), 0);
  EXPECT_NE(ftruncate(fd_.get(), sizeof(Segment) * 2), 0);
  EXPECT_NE(fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST_F(SegmentReaderTest, AddsTheStripes) {
  Serve(3, 42);
  ASSERT_TRUE(reader_->AddRow(42, 3).ok());
  for (uint32_t stripe = 0; stripe < kStripes; ++stripe) {
    ServiceCounters& counters = worker_->rows[3].stripes[stripe];
    counters.started = 10 + stripe;
    counters.finished = 10;
    counters.answered[2] = 9;
    counters.answered[5] = 1;
    counters.limit_hits[0] = 2;
    counters.latency_sum_ns = 1000;
    counters.latency[12] = 1;
    counters.bytes_received = 7;
    counters.bytes_sent = 8;
    counters.connections = 3;
  }
  const ServiceTotals totals = reader_->Totals(42);
  EXPECT_EQ(totals.started, 46);
  EXPECT_EQ(totals.finished, 40);
  EXPECT_EQ(totals.answered[2], 36);
  EXPECT_EQ(totals.answered[5], 4);
  EXPECT_EQ(totals.limit_hits[0], 8);
  EXPECT_EQ(totals.latency_sum_ns, 4000);
  EXPECT_EQ(totals.latency[12], 4);
  EXPECT_EQ(totals.bytes_received, 28);
  EXPECT_EQ(totals.bytes_sent, 32);
  EXPECT_EQ(totals.connections, 12);
  EXPECT_EQ(reader_->Totals(43), ServiceTotals{});
}

TEST_F(SegmentReaderTest, TellsTheMomentOfAService) {
  Serve(0, 1, RowState::kDraining);
  ServiceRow& row = worker_->rows[0];
  row.stripes[0].started = 5;
  row.stripes[1].finished = 2;
  row.queued = 4;
  row.allocated_bytes = 100;
  row.oldest_request_ns = 1'000'000'000;
  row.oldest_queued_ns = 9'000'000'000;  // in the future: no age
  ASSERT_TRUE(reader_->AddRow(1, 0).ok());
  const RowGauges gauges = reader_->Gauges(1, SteadyTime{3'000'000'000});
  EXPECT_EQ(gauges.state, RowState::kDraining);
  EXPECT_EQ(gauges.in_flight, 3);
  EXPECT_EQ(gauges.queued, 4);
  EXPECT_EQ(gauges.allocated_bytes, 100);
  EXPECT_EQ(gauges.oldest_request_age, absl::Seconds(2));
  EXPECT_FALSE(gauges.oldest_queued_age.has_value());
}

TEST_F(SegmentReaderTest, OutOfRangeValuesAreNotBelieved) {
  Serve(0, 1);
  worker_->rows[0].state = 77;
  worker_->rows[0].stripes[0].finished = 9;
  worker_->rows[0].oldest_request_ns = ~uint64_t{0};
  ASSERT_TRUE(reader_->AddRow(1, 0).ok());
  const RowGauges gauges = reader_->Gauges(1, SteadyTime{1});
  EXPECT_EQ(gauges.state, RowState::kFree);
  EXPECT_EQ(gauges.in_flight, 0);
  EXPECT_FALSE(gauges.oldest_request_age.has_value());
}

TEST_F(SegmentReaderTest, RowsThatAreNotTheServicesAreRefused) {
  Serve(0, 1);
  Serve(1, 2);
  EXPECT_TRUE(absl::IsInvalidArgument(reader_->AddRow(1, kServiceRows)));
  EXPECT_TRUE(absl::IsInvalidArgument(reader_->AddRow(1, kNoRow)));
  EXPECT_TRUE(absl::IsInvalidArgument(reader_->AddRow(0, 0)));
  EXPECT_TRUE(absl::IsInvalidArgument(reader_->AddRow(1, 1)));
  ASSERT_TRUE(reader_->AddRow(1, 0).ok());
  EXPECT_TRUE(reader_->AddRow(1, 0).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(reader_->AddRow(2, 0)));
}

TEST_F(SegmentReaderTest, ACounterThatFallsIsAFaultAndKeepsItsValue) {
  Serve(0, 1);
  ASSERT_TRUE(reader_->AddRow(1, 0).ok());
  worker_->rows[0].stripes[0].started = 10;
  worker_->rows[0].stripes[0].finished = 10;
  EXPECT_EQ(reader_->Totals(1).finished, 10);
  EXPECT_EQ(reader_->fault(), "");
  worker_->rows[0].stripes[0].finished = 4;
  worker_->rows[0].stripes[0].started = 12;
  const ServiceTotals totals = reader_->Totals(1);
  EXPECT_EQ(totals.finished, 10);
  EXPECT_EQ(totals.started, 12);
  EXPECT_NE(reader_->fault(), "");
}

TEST_F(SegmentReaderTest, SurvivesAPunchedHole) {
  Serve(0, 1);
  worker_->rows[0].stripes[0].finished = 10;
  ASSERT_TRUE(reader_->AddRow(1, 0).ok());
  EXPECT_EQ(reader_->Totals(1).finished, 10);
  ASSERT_EQ(fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, sizeof(Segment)),
            0);
  EXPECT_EQ(reader_->Totals(1).finished, 10);
  EXPECT_NE(reader_->fault(), "");
  EXPECT_EQ(reader_->AllTotals().at(1).finished, 10);
}

TEST_F(SegmentReaderTest, AServiceThatCameBackHasTwoRows) {
  Serve(0, 1);
  worker_->rows[0].stripes[0].finished = 10;
  ASSERT_TRUE(reader_->AddRow(1, 0).ok());
  Serve(1, 1);
  worker_->rows[1].stripes[0].finished = 5;
  ASSERT_TRUE(reader_->AddRow(1, 1).ok());
  EXPECT_EQ(reader_->Totals(1).finished, 15);
}

TEST_F(SegmentReaderTest, FindsEveryRowWhenItIsOpenedAgain) {
  Serve(0, 1);
  Serve(kServiceRows - 1, 2, RowState::kLoading);
  worker_->rows[kServiceRows - 1].stripes[3].started = 4;
  auto again = SegmentReader::Open(UniqueFd(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->Totals(2).started, 4);
  EXPECT_THAT((*again)->LoadingServices(), ElementsAre(2));
  // One that appears later is found at the end.
  Serve(7, 3);
  worker_->rows[7].stripes[0].started = 1;
  EXPECT_EQ((*again)->KnownTotals().count(3), 0);
  EXPECT_EQ((*again)->AllTotals().at(3).started, 1);
}

TEST_F(SegmentReaderTest, LookingCostsNoMemory) {
  const auto blocks = [this] {
    struct stat status = {};
    EXPECT_EQ(fstat(fd_.get(), &status), 0);
    return status.st_blocks;
  };
  const auto before = blocks();
  EXPECT_THAT(reader_->AllTotals(), IsEmpty());
  EXPECT_EQ(blocks(), before);
}

TEST_F(SegmentReaderTest, TellsTheProgressOfTheLoops) {
  worker_->header.loop_progress_ns = 7;
  worker_->header.accept_progress = 8;
  worker_->header.thread_slot_overflows = 9;
  worker_->header.log_bytes_dropped = 10;
  EXPECT_EQ(reader_->loop_progress(), SteadyTime{7});
  EXPECT_EQ(reader_->accept_progress(), 8);
  worker_->header.accept_errors = 5;
  EXPECT_EQ(reader_->accept_errors(), 5u);
  worker_->header.accept_errors = 4;
  EXPECT_EQ(reader_->accept_errors(), 5u) << "a counter fell";
  EXPECT_EQ(reader_->thread_slot_overflows(), 9);
  EXPECT_EQ(reader_->log_bytes_dropped(), 10);
}

TEST_F(SegmentReaderTest, RefusesWhatIsNoSegment) {
  const auto open = [](UniqueFd fd) { return SegmentReader::Open(std::move(fd)).status(); };
  EXPECT_TRUE(absl::IsInvalidArgument(open(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)))));
  EXPECT_TRUE(absl::IsInvalidArgument(open(*MakeSealedMemory("x", 4096))));
  EXPECT_TRUE(absl::IsInvalidArgument(open(*MakeSealedMemory("x", sizeof(Segment)))));
  worker_->header.version = 2;
  EXPECT_TRUE(absl::IsInvalidArgument(open(UniqueFd(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)))));
}

}  // namespace
}  // namespace cohost::supervisor
