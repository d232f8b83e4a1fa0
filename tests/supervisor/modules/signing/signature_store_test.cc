// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/signature_store.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

Signature By(int key, char byte = 'x') {
  return {absl::StrCat(std::string(61, 'a'), key), std::string(64, byte)};
}

const std::string kHash(64, '1');

TEST(SignatureStore, KeepsOverRestartsAndMerges) {
  const TemporaryFolder folder;
  EXPECT_THAT(SignatureStore(folder.path()).Find(kHash).value(), IsEmpty());
  ASSERT_TRUE(SignatureStore(folder.path()).Keep(kHash, {By(100), By(101)}).ok());
  ASSERT_TRUE(SignatureStore(folder.path()).Keep(kHash, {By(101, 'y'), By(102)}).ok());
  EXPECT_THAT(SignatureStore(folder.path()).Find(kHash).value(),
              ElementsAre(By(100), By(101, 'y'), By(102)));
  EXPECT_THAT(SignatureStore(folder.path()).Find(std::string(64, '2')).value(), IsEmpty());
}

TEST(SignatureStore, WhatIsKeptAlreadyIsNotWrittenAgain) {
  const TemporaryFolder folder;
  const SignatureStore store(folder.path());
  ASSERT_TRUE(store.Keep(kHash, {By(100)}).ok());
  const auto before = std::filesystem::last_write_time(store.PathOf(kHash));
  // A file that is replaced is another one.
  std::filesystem::create_hard_link(store.PathOf(kHash), folder / "same");
  ASSERT_TRUE(store.Keep(kHash, {By(100)}).ok());
  ASSERT_TRUE(store.Keep(kHash, {}).ok());
  EXPECT_TRUE(std::filesystem::equivalent(store.PathOf(kHash), folder / "same"));
  EXPECT_EQ(std::filesystem::last_write_time(store.PathOf(kHash)), before);
}

TEST(SignatureStore, BeyondTheMostTheOldestGo) {
  const TemporaryFolder folder;
  const SignatureStore store(folder.path());
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(store.Keep(kHash, {By(100 + i)}).ok());
  const std::vector<Signature> kept = store.Find(kHash).value();
  ASSERT_EQ(kept.size(), kMostSignatures);
  EXPECT_EQ(kept.front(), By(108));
  EXPECT_EQ(kept.back(), By(139));
}

TEST(SignatureStore, ADamagedFileIsToldAndReplacedByTheNext) {
  const TemporaryFolder folder;
  const SignatureStore store(folder.path());
  ASSERT_TRUE(store.Keep(kHash, {By(100)}).ok());
  std::filesystem::remove(store.PathOf(kHash));
  std::ofstream(store.PathOf(kHash)) << "cohost-signature 1\ntorn";
  EXPECT_EQ(store.Find(kHash).status().code(), absl::StatusCode::kDataLoss);
  ASSERT_TRUE(store.Keep(kHash, {By(101)}).ok());
  EXPECT_THAT(store.Find(kHash).value(), ElementsAre(By(101)));
}

TEST(SignatureStore, ForgetsWhenTold) {
  const TemporaryFolder folder;
  const SignatureStore store(folder.path());
  ASSERT_TRUE(store.Keep(kHash, {By(100)}).ok());
  ASSERT_TRUE(store.Forget(kHash).ok());
  ASSERT_TRUE(store.Forget(kHash).ok());
  EXPECT_THAT(store.Find(kHash).value(), IsEmpty());
}

TEST(SignatureStore, ANameThatIsNoHashReachesNoFile) {
  const TemporaryFolder folder;
  const SignatureStore store(folder.path());
  EXPECT_EQ(store.Keep("../escape", {By(100)}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(store.Find("../escape").value(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder / "escape.sig"));
}

}  // namespace
}  // namespace cohost::supervisor
