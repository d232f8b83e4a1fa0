// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/content_hash.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using testing::TemporaryFolder;

TEST(ContentHash, IsTheSha256OfTheContent) {
  const TemporaryFolder folder;
  std::ofstream(folder / "abc") << "abc";
  std::ofstream(folder / "empty");
  EXPECT_EQ(HashOfFile(folder / "abc").value(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashOfFile(folder / "empty").value(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(ContentHash, GoesOverMoreThanOneBlock) {
  const TemporaryFolder folder;
  std::ofstream(folder / "a") << std::string(1'000'000, 'a');
  EXPECT_EQ(HashOfFile(folder / "a").value(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(ContentHash, WhatIsNoRegularFileIsNotWaitedFor) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(HashOfFile(folder / "fifo").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(HashOfFile(folder.path()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(HashOfFile(folder / "missing").status().code(), absl::StatusCode::kNotFound);
}

TEST(ContentHash, HasOneSpelling) {
  EXPECT_TRUE(IsContentHash(std::string(64, 'a')));
  EXPECT_FALSE(IsContentHash(std::string(64, 'A')));
  EXPECT_FALSE(IsContentHash(std::string(63, 'a')));
  EXPECT_FALSE(IsContentHash(std::string(64, '/')));
  EXPECT_FALSE(IsContentHash(""));
}

}  // namespace
}  // namespace cohost::supervisor
