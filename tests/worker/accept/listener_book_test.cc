// SPDX-License-Identifier: Apache-2.0
#include "worker/accept/listener_book.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace cohost::worker {
namespace {

UniqueFd File(const char* path) { return UniqueFd(::open(path, O_RDONLY | O_CLOEXEC)); }

uint64_t Inode(int fd) {
  struct stat status {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  return status.st_ino;
}

TEST(ListenerBook, GivesDuplicatesThatChildrenDoNotInherit) {
  ListenerBook book;
  book.Add(4, File("/dev/null"));
  const absl::StatusOr<UniqueFd> duplicate = book.Duplicate(4);
  ASSERT_TRUE(duplicate.ok()) << duplicate.status();
  EXPECT_EQ(Inode(duplicate->get()), Inode(File("/dev/null").get()));
  EXPECT_EQ(::fcntl(duplicate->get(), F_GETFD), FD_CLOEXEC);
}

TEST(ListenerBook, KeepsTheFirstOfATokenThatIsRepeated) {
  ListenerBook book;
  book.Add(4, File("/dev/null"));
  book.Add(4, File("/dev/zero"));
  EXPECT_EQ(book.tokens(), std::vector<uint64_t>{4});
  EXPECT_EQ(Inode(book.Duplicate(4)->get()), Inode(File("/dev/null").get()));
}

TEST(ListenerBook, ForgetsWhatIsReleased) {
  ListenerBook book;
  book.Add(4, File("/dev/null"));
  book.Add(9, File("/dev/null"));
  book.Release(4);
  book.Release(4);
  EXPECT_FALSE(book.Has(4));
  EXPECT_TRUE(absl::IsNotFound(book.Duplicate(4).status()));
  EXPECT_EQ(book.tokens(), std::vector<uint64_t>{9});
}

}  // namespace
}  // namespace cohost::worker
