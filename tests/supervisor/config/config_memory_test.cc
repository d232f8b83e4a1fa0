// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include "supervisor/config/yaml/yaml_tree.h"
#include "tests/supervisor/config/config_fixture.h"

namespace cohost::supervisor {
namespace {

using ConfigMemory = ConfigTest;

TEST_F(ConfigMemory, CFG_04_BombsTakeLittleMemory) {
  rusage before{}, after{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &before), 0);
  for (const char* token : {"[", "{a: ", "[x,", "- ", "x: ", "&a [", "\""}) {
    std::string text;
    while (text.size() + 4 < YamlLimits().size) text += token;
    const LoadResult result = ParseDeployment(text, folder() + "/d.yaml");
    EXPECT_FALSE(result.errors.empty()) << token;
  }
  ASSERT_EQ(getrusage(RUSAGE_SELF, &after), 0);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 50 * 1024);  // KiB
}

}  // namespace
}  // namespace cohost::supervisor
