// SPDX-License-Identifier: Apache-2.0
#include "base/resident_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

namespace cohost {
namespace {

// Kilobytes of this process that files are behind.
int64_t FileBackedKilobytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("RssFile:", 0) == 0) return std::atoll(line.c_str() + 8);
  }
  return -1;
}

int relocated = 7;
int* volatile pointer_to_data = &relocated;

TEST(ResidentPages, AreFewerAfterwardsAndTheProgramGoesOn) {
  // Touch what a start touches: all of gtest's and libstdc++'s text that this run used so far.
  const int64_t before = FileBackedKilobytes();
  ReleaseStartupPages();
  const int64_t after = FileBackedKilobytes();
  EXPECT_LT(after, before);
  // Written data is not among what was given back.
  EXPECT_EQ(*pointer_to_data, 7);
  relocated = 8;
  ReleaseStartupPages();
  EXPECT_EQ(*pointer_to_data, 8);
  EXPECT_EQ(std::make_unique<std::string>("still allocates")->size(), 15u);
}

TEST(ResidentPages, OnlyCleanReadOnlyFilesAreGivenBack) {
  const auto clean = CleanMappings(
      "1000-2000 r-xp 00000000 fe:00 1  /usr/bin/x\nSize: 4 kB\nAnonymous:             0 kB\n"
      "2000-3000 r--p 00001000 fe:00 1  /usr/bin/x\nAnonymous:             4 kB\n"
      "3000-4000 rw-p 00002000 fe:00 1  /usr/bin/x\nAnonymous:             0 kB\n"
      "4000-5000 r--s 00000000 fe:00 2  /srv/data image\nAnonymous:             0 kB\n"
      "5000-6000 r--p 00000000 00:00 0\nAnonymous:             0 kB\n"
      "6000-7000 r-xp 00000000 00:00 0  [vdso]\nAnonymous:             0 kB\n"
      "7000-6000 r-xp 00000000 fe:00 1  /backwards\nAnonymous:             0 kB\n"
      "garbage\nAnonymous:");
  const std::vector<std::pair<uintptr_t, uintptr_t>> expected = {{0x1000, 0x2000},
                                                                 {0x4000, 0x5000}};
  EXPECT_EQ(clean, expected);
}

}  // namespace
}  // namespace cohost
