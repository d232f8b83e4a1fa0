// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/load_class.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace cohost::supervisor {
namespace {

TEST(LoadClassName, IsReadBackAsTheSameClass) {
  std::set<std::string_view> names;
  for (const LoadClass load_class : {LoadClass::kLatency, LoadClass::kSteady, LoadClass::kBursty,
                                     LoadClass::kBatch, LoadClass::kIdle}) {
    EXPECT_EQ(LoadClassOf(LoadClassName(load_class)), load_class);
    names.insert(LoadClassName(load_class));
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"latency", "steady", "bursty", "batch", "idle"}));
}

}  // namespace
}  // namespace cohost::supervisor
