// SPDX-License-Identifier: Apache-2.0
//
// The service of worker/sdk/README.md, taken out of that file and built as it says.
#include <gtest/gtest.h>

#include "tests/worker/native/native_harness.h"

namespace cohost::worker::native {
namespace {

class Readme : public ::testing::TestWithParam<const char*> {};

TEST_P(Readme, TheTwentyLinesAreAService) {
  NativeHarness harness;
  NativeServiceDescription description;
  description.name = "hello";
  description.module_path = GetParam();
  description.settings = {{"greeting", "Hi"}};
  const auto service = harness.Start(description);
  ASSERT_TRUE(service.ok()) << service.status().message();
  EXPECT_EQ(harness.Get(**service, "/").body, "<p>Hi, world!</p>\n");
  EXPECT_EQ(harness.Get(**service, "/?name=%3Cb%3E").body, "<p>Hi, &lt;b&gt;!</p>\n");
}

// Built by the Bazel macro, and by the commands of the README.
INSTANTIATE_TEST_SUITE_P(Builds, Readme,
                         ::testing::Values("tests/worker/sdk/readme_service.so",
                                           "tests/worker/sdk/by_hand/hello.so"));

}  // namespace
}  // namespace cohost::worker::native
