// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/precompile/precompile_cache.h"

#include <random>
#include <string>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using Entry = PrecompileCache::Entry;

DerivedRecord Record() {
  return {.source_hash = std::string(64, 'a'),
          .stored_hash = "",
          .compiler = "crossgen2 10.0.12",
          .framework = "Microsoft.NETCore.App 10.0.12",
          .flags = "-O"};
}
const Entry kStored = {std::string(64, 'b'), ""};
const Entry kFailed = {"", "exit code 1: it has\nno code"};

TEST(PrecompileCache, RemembersImagesAndFailures) {
  PrecompileCache cache;
  DerivedRecord other = Record();
  other.flags = "-O --instruction-set:native";
  EXPECT_EQ(cache.Find(Record()), std::nullopt);
  cache.Remember(Record(), kStored);
  cache.Remember(other, kFailed);
  const PrecompileCache read = PrecompileCache::Parse(cache.Format());
  EXPECT_EQ(read.Find(Record()), kStored);
  EXPECT_EQ(read.Find(other), kFailed);
  EXPECT_EQ(read.Format(), cache.Format());
}

TEST(PrecompileCache, EverythingThatShapesTheCodeIsPartOfTheKey) {
  PrecompileCache cache;
  cache.Remember(Record(), kStored);
  for (std::string DerivedRecord::*field : {&DerivedRecord::source_hash, &DerivedRecord::compiler,
                                            &DerivedRecord::framework, &DerivedRecord::flags}) {
    DerivedRecord other = Record();
    (other.*field).back() = 'c';
    EXPECT_EQ(cache.Find(other), std::nullopt);
  }
  // What comes out is not.
  DerivedRecord same = Record();
  same.stored_hash = std::string(64, 'd');
  EXPECT_EQ(cache.Find(same), kStored);
  // Fields do not run into each other.
  DerivedRecord a = Record();
  DerivedRecord b = Record();
  a.compiler = "xy";
  a.framework = "z";
  b.compiler = "x";
  b.framework = "yz";
  EXPECT_NE(PrecompileCache::KeyOf(a), PrecompileCache::KeyOf(b));
}

TEST(PrecompileCache, SkipsLinesThatMakeNoSense) {
  PrecompileCache cache;
  cache.Remember(Record(), kStored);
  std::string text = cache.Format();
  text += "nonsense\n" + std::string(64, 'e') + "\n" + std::string(64, 'e') + " short\n" +
          std::string(64, 'e') + " failed a b\n" + std::string(64, 'e') + " failed %zz\n\0\n";
  EXPECT_EQ(PrecompileCache::Parse(text).Format(), cache.Format());
  EXPECT_EQ(PrecompileCache::Parse("other 1\n" + text).Format(), PrecompileCache().Format());
  EXPECT_EQ(PrecompileCache::Parse("").Format(), PrecompileCache().Format());
}

TEST(PrecompileCache, DamagedTextsAreRead) {
  PrecompileCache cache;
  cache.Remember(Record(), kFailed);
  const std::string good = cache.Format();
  std::mt19937 random(/*seed=*/4);
  for (int round = 0; round < 5000; ++round) {
    std::string text = good;
    text[random() % text.size()] = static_cast<char>(random());
    const PrecompileCache read = PrecompileCache::Parse(text);
    EXPECT_EQ(PrecompileCache::Parse(read.Format()).Format(), read.Format());
  }
}

}  // namespace
}  // namespace cohost::supervisor
