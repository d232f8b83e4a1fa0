// SPDX-License-Identifier: Apache-2.0
#include "gtest/gtest.h"
#include "supervisor/process/process_launcher.h"

namespace cohost::supervisor {
namespace {

TEST(DescribeExit, SaysCodeOrSignalByName) {
  ExitRecord record;
  EXPECT_EQ(DescribeExit(record), "unknown");
  record.exit_code = 3;
  EXPECT_EQ(DescribeExit(record), "exit code 3");
  record.exit_code.reset();
  record.signal = 11;
  EXPECT_EQ(DescribeExit(record), "signal 11 (SIGSEGV)");
  record.signal = 40;
  EXPECT_EQ(DescribeExit(record), "signal 40");
}

TEST(DescribeExit, SaysThatMemoryWasTheReason) {
  ExitRecord record;
  record.signal = 9;
  record.out_of_memory = true;
  EXPECT_EQ(DescribeExit(record), "signal 9 (SIGKILL), out of memory");
}

}  // namespace
}  // namespace cohost::supervisor
