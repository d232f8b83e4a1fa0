// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/keys/reference.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "supervisor/config/keys/key_table.h"

namespace cohost::supervisor {
namespace {

TEST(ReferenceMarkdown, IsWhatTheReadmeSays) {
  std::ostringstream readme;
  readme << std::ifstream("deploy/README.md").rdbuf();
  const std::string text = readme.str();
  const size_t begin = text.find(kReferenceBegin);
  const size_t end = text.find(kReferenceEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const size_t first = begin + sizeof(kReferenceBegin) - 1;
  EXPECT_EQ(text.substr(first, end - first), ReferenceMarkdown())
      << "put the output of `bazel run //supervisor/config/keys:reference` between the two marks";
}

TEST(ReferenceMarkdown, NamesEveryKey) {
  const std::string text = ReferenceMarkdown();
  for (const Block* block : AllBlocks()) {
    for (const Key* key : block->AllKeys()) {
      EXPECT_NE(text.find("`" + std::string(key->name) + "`"), std::string::npos) << key->name;
    }
  }
}

}  // namespace
}  // namespace cohost::supervisor
