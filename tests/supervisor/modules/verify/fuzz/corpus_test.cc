// SPDX-License-Identifier: Apache-2.0
//
// Every input beside this file once: what a fuzzer found stays mended, and good files stay good.
#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/supervisor/modules/module_files.h"
#include "tests/supervisor/modules/verify/fuzz/fuzz_targets.h"

namespace cohost::supervisor {
namespace {

constexpr char kFolder[] = "tests/supervisor/modules/verify/fuzz";

std::vector<std::filesystem::path> Seeds(std::string_view target) {
  std::vector<std::filesystem::path> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(std::string(target) + "-") && entry.path().extension() == ".seed") {
      seeds.push_back(entry.path());
    }
  }
  return seeds;
}

TEST(Corpus, EveryInputIsAcceptedOrRefusedAsItsNameSays) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the inputs are of x86-64";
#endif
  for (const FuzzTarget& target : kFuzzTargets) {
    int good = 0;
    int bad = 0;
    for (const auto& seed : Seeds(target.name)) {
      const std::string kind = seed.filename().string().substr(target.name.size() + 1);
      const bool is_good = kind.starts_with("good-");
      ASSERT_TRUE(is_good || kind.starts_with("bad-")) << seed;
      EXPECT_EQ(target.run(ReadFile(seed)), is_good) << seed;
      ++(is_good ? good : bad);
    }
    EXPECT_GT(good, 0) << target.name;
    EXPECT_GT(bad, 0) << target.name;
  }
}

TEST(Corpus, EveryInputHasATarget) {
  size_t seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".seed") ++seeds;
  }
  size_t with_target = 0;
  for (const FuzzTarget& target : kFuzzTargets) with_target += Seeds(target.name).size();
  EXPECT_EQ(seeds, with_target);
}

TEST(Corpus, TargetsTakeEmptyAndShortInputs) {
  for (const FuzzTarget& target : kFuzzTargets) {
    EXPECT_FALSE(target.run("")) << target.name;
    EXPECT_FALSE(target.run(std::string_view("\0", 1))) << target.name;
    EXPECT_FALSE(target.run(std::string(200, '\xff'))) << target.name;
  }
}

}  // namespace
}  // namespace cohost::supervisor
