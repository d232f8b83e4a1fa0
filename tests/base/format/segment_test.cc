// SPDX-License-Identifier: Apache-2.0
#include "base/format/segment.h"

#include <sys/mman.h>

#include "gtest/gtest.h"

namespace cohost {
namespace {

class SegmentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* memory = mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    segment_ = static_cast<Segment*>(memory);
  }
  void TearDown() override { munmap(segment_, sizeof(Segment)); }
  Segment* segment_ = nullptr;
};

TEST_F(SegmentTest, InitializedIsReadable) {
  EXPECT_FALSE(IsReadableSegment(*segment_));
  InitializeSegment(*segment_, 7);
  EXPECT_TRUE(IsReadableSegment(*segment_));
  EXPECT_EQ(segment_->header.generation, 7u);
  EXPECT_EQ(segment_->header.size, sizeof(Segment));
}

TEST_F(SegmentTest, AnyOtherLayoutIsNot) {
  const auto spoiled = [&](auto spoil) {
    InitializeSegment(*segment_, 1);
    spoil(segment_->header);
    return !IsReadableSegment(*segment_);
  };
  EXPECT_TRUE(spoiled([](SegmentHeader& header) { header.magic ^= 1; }));
  EXPECT_TRUE(spoiled([](SegmentHeader& header) { ++header.version; }));
  EXPECT_TRUE(spoiled([](SegmentHeader& header) { header.size = 4096; }));
  EXPECT_TRUE(spoiled([](SegmentHeader& header) { ++header.service_rows; }));
  EXPECT_TRUE(spoiled([](SegmentHeader& header) { header.crash_record_offset = 1ULL << 40; }));
}

}  // namespace
}  // namespace cohost
