// SPDX-License-Identifier: Apache-2.0
#include "base/system/unique_fd.h"

#include <fcntl.h>

#include <utility>

#include "gtest/gtest.h"

namespace cohost {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }
UniqueFd Open() { return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC)); }

TEST(UniqueFd, ClosesAtTheEnd) {
  int number = -1;
  {
    const UniqueFd fd = Open();
    number = fd.get();
    EXPECT_TRUE(fd.valid());
    EXPECT_TRUE(IsOpen(number));
  }
  EXPECT_FALSE(IsOpen(number));
  EXPECT_FALSE(UniqueFd().valid());
}

TEST(UniqueFd, MovesAndReleasesWithoutClosing) {
  UniqueFd first = Open();
  const int number = first.get();
  UniqueFd second = std::move(first);
  EXPECT_EQ(second.get(), number);
  UniqueFd third;
  third = std::move(second);
  EXPECT_TRUE(IsOpen(number));
  const UniqueFd again(third.Release());
  EXPECT_FALSE(third.valid());
  EXPECT_EQ(again.get(), number);
}

TEST(UniqueFd, ResetClosesTheOldOne) {
  UniqueFd fd = Open();
  const int number = fd.get();
  UniqueFd other = Open();
  fd.Reset(other.Release());
  EXPECT_FALSE(IsOpen(number));
  EXPECT_TRUE(IsOpen(fd.get()));
}

}  // namespace
}  // namespace cohost
