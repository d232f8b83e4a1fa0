// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/sealed_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/system/unique_fd.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kSize = 3 * 4096 + 100;

// A memfd of `size` bytes with some of the seals.
UniqueFd Memory(int seals, size_t size = kSize) {
  UniqueFd memory(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(memory.get(), static_cast<off_t>(size)), 0);
  EXPECT_EQ(fcntl(memory.get(), F_ADD_SEALS, seals), 0);
  return memory;
}

TEST(SealedMemory, HasItsSizeForEver) {
  const absl::StatusOr<UniqueFd> memory = MakeSealedMemory("test", kSize);
  ASSERT_TRUE(memory.ok()) << memory.status();
  const int fd = memory->get();
  EXPECT_EQ(ftruncate(fd, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(ftruncate(fd, 2 * kSize), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(pwrite(fd, "x", 1, kSize), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(fallocate(fd, 0, 0, 2 * kSize), -1);
  EXPECT_EQ(errno, EPERM);
  struct stat info {};
  ASSERT_EQ(fstat(fd, &info), 0);
  EXPECT_EQ(info.st_size, static_cast<off_t>(kSize));
}

// Otherwise a holder could forbid the others to write.
TEST(SealedMemory, TakesNoFurtherSeal) {
  const absl::StatusOr<UniqueFd> memory = MakeSealedMemory("test", kSize);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(fcntl(memory->get(), F_ADD_SEALS, F_SEAL_WRITE), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(SealedMemory, BeginsAsZerosAndIsSharedByItsHolders) {
  const absl::StatusOr<UniqueFd> memory = MakeSealedMemory("test", kSize);
  ASSERT_TRUE(memory.ok()) << memory.status();
  const UniqueFd other(fcntl(memory->get(), F_DUPFD_CLOEXEC, 0));
  auto* written = static_cast<char*>(
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, memory->get(), 0));
  auto* read = static_cast<char*>(mmap(nullptr, kSize, PROT_READ, MAP_SHARED, other.get(), 0));
  ASSERT_NE(written, MAP_FAILED);
  ASSERT_NE(read, MAP_FAILED);
  EXPECT_EQ(std::string(read, kSize), std::string(kSize, '\0'));
  written[kSize - 1] = 'x';
  EXPECT_EQ(read[kSize - 1], 'x');
  munmap(written, kSize);
  munmap(read, kSize);
}

TEST(SealedMemory, EndsWithTheProgramThatIsReplaced) {
  const absl::StatusOr<UniqueFd> memory = MakeSealedMemory("test", kSize);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(fcntl(memory->get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(SealedMemory, ItsSizeIsThatOfTheMaker) {
  for (const size_t size : {size_t{0}, size_t{1}, kSize}) {
    const absl::StatusOr<UniqueFd> memory = MakeSealedMemory("test", size);
    ASSERT_TRUE(memory.ok()) << memory.status();
    const absl::StatusOr<size_t> seen = SealedMemorySize(memory->get());
    ASSERT_TRUE(seen.ok()) << seen.status();
    EXPECT_EQ(*seen, size);
  }
}

TEST(SealedMemory, ASizeThatIsNoneIsAnError) {
  EXPECT_FALSE(MakeSealedMemory("test", size_t{1} << 63).ok());
}

TEST(SealedMemory, RefusesWhatAHolderCouldStillShrinkOrGrow) {
  const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  EXPECT_TRUE(SealedMemorySize(Memory(all).get()).ok());
  for (const int missing : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL}) {
    const absl::StatusOr<size_t> size = SealedMemorySize(Memory(all & ~missing).get());
    EXPECT_TRUE(absl::IsInvalidArgument(size.status())) << missing;
  }
}

TEST(SealedMemory, RefusesWhatIsNoMemory) {
  const UniqueFd folder(open("/tmp", O_RDONLY | O_CLOEXEC));
  const UniqueFd device(open("/dev/zero", O_RDWR | O_CLOEXEC));
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  for (const int fd : {folder.get(), device.get(), reader.get(), -1}) {
    EXPECT_TRUE(absl::IsInvalidArgument(SealedMemorySize(fd).status())) << fd;
  }
}

}  // namespace
}  // namespace cohost::supervisor
