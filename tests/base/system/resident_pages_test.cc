// SPDX-License-Identifier: Apache-2.0
#include "base/system/resident_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

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

struct alignas(4096) Constants {
  char first;
  char rest[8191];
};
const Constants constants = {'c', {}};
const Constants* volatile pointer_to_constants = &constants;

// CoreCLR does that with a constant of its own, once at its start.
TEST(ResidentPages, AConstantThatWasWrittenOnceKeepsItsValue) {
  auto* const page = const_cast<char*>(&pointer_to_constants->first);
  ASSERT_EQ(::mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
  *const_cast<volatile char*>(page) = 'w';
  ASSERT_EQ(::mprotect(page, 4096, PROT_READ), 0);
  ReleaseStartupPages();
  EXPECT_EQ(*const_cast<volatile char*>(page), 'w');
}

}  // namespace
}  // namespace cohost
