// SPDX-License-Identifier: Apache-2.0
#include "worker/control/segment_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace cohost::worker {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Segment* Map(int fd) {
  void* const address =
      ::mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, /*offset=*/0);
  EXPECT_NE(address, MAP_FAILED);
  return static_cast<Segment*>(address);
}

// A memfd with an initialised segment's header, changed by `change`.
UniqueFd MakeSegment(size_t size, int seals, void (*change)(SegmentHeader&)) {
  UniqueFd fd(::memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
  // Mapped before it is sealed, whole pages beyond a short file included: only the header is
  // touched.
  Segment* const segment = Map(fd.get());
  InitializeSegment(*segment, /*generation=*/3);
  change(segment->header);
  EXPECT_EQ(::munmap(segment, sizeof(Segment)), 0);
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

void Unchanged(SegmentHeader&) {}

TEST(SegmentMap, SignsTheHeaderForItsReaders) {
  UniqueFd fd = MakeSegment(sizeof(Segment), kSeals, Unchanged);
  const UniqueFd reader(::dup(fd.get()));
  const absl::StatusOr<SegmentMap> map = SegmentMap::Open(std::move(fd), "abcdef");
  ASSERT_TRUE(map.ok()) << map.status();
  map->segment().rows[5].stripes[0].started.store(42);

  Segment* const read = Map(reader.get());
  EXPECT_EQ(read->header.pid, static_cast<uint32_t>(::getpid()));
  EXPECT_EQ(std::string(read->header.binary_id.data()), "abcdef");
  EXPECT_EQ(read->rows[5].stripes[0].started.load(), 42U);
  EXPECT_EQ(::munmap(read, sizeof(Segment)), 0);
}

TEST(SegmentMap, RefusesWhatSomebodyCouldShrink) {
  const auto map =
      SegmentMap::Open(MakeSegment(sizeof(Segment), F_SEAL_GROW | F_SEAL_SEAL, Unchanged), "id");
  EXPECT_TRUE(absl::IsFailedPrecondition(map.status())) << map.status();
}

TEST(SegmentMap, RefusesAShortFile) {
  const auto map = SegmentMap::Open(MakeSegment(sizeof(Segment) - 1, kSeals, Unchanged), "id");
  EXPECT_TRUE(absl::IsFailedPrecondition(map.status())) << map.status();
}

TEST(SegmentMap, RefusesAnotherVersion) {
  const auto map = SegmentMap::Open(
      MakeSegment(sizeof(Segment), kSeals, [](SegmentHeader& header) { header.version = 9; }),
      "id");
  EXPECT_TRUE(absl::IsFailedPrecondition(map.status())) << map.status();
}

TEST(SegmentMap, RefusesWhatIsNoFile) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd writer(ends[1]);
  EXPECT_FALSE(SegmentMap::Open(UniqueFd(ends[0]), "id").ok());
}

}  // namespace
}  // namespace cohost::worker
