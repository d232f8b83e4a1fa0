// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "worker/sdk/cohost.hpp"

namespace cohost {
namespace {

TEST(Header, TheMacroMakesACompleteTable) {
  cohost_host table = {};
  table.major = COHOST_ABI_MAJOR;
  table.size = sizeof(table);
  const cohost_module* module = nullptr;
  ASSERT_EQ(cohost_module_v1(&table, &module), COHOST_OK);
  EXPECT_EQ(module->size, sizeof(cohost_module));
  EXPECT_EQ(module->flags, COHOST_SERIAL | COHOST_NO_OVERLAP);
  EXPECT_EQ(ToView(module->name), "Empty");
  EXPECT_NE(module->health, nullptr);
}

TEST(Header, AHostThatOffersLessIsRefused) {
  cohost_host table = {};
  table.major = COHOST_ABI_MAJOR;
  table.size = offsetof(cohost_host, call);
  const cohost_module* module = nullptr;
  EXPECT_EQ(cohost_module_v1(&table, &module), COHOST_NOT_SUPPORTED);
  table.size = sizeof(table);
  table.major = COHOST_ABI_MAJOR + 1;
  EXPECT_EQ(cohost_module_v1(&table, &module), COHOST_NOT_SUPPORTED);
  EXPECT_EQ(module, nullptr);
}

TEST(Header, HasSeesWhereATableEnds) {
  cohost_host table = {};
  table.size = offsetof(cohost_host, setting);
  EXPECT_TRUE(COHOST_HAS(&table, service_info));
  EXPECT_FALSE(COHOST_HAS(&table, setting));
}

TEST(Header, NamesAreFoundInAnyCase) {
  const cohost_header headers[] = {{cohost_text("Accept"), cohost_text("1")},
                                   {cohost_text("X-Id"), cohost_text("2")},
                                   {cohost_text("x-id"), cohost_text("3")}};
  EXPECT_EQ(cohost_find_header(headers, 3, "x-ID"), &headers[1]);
  EXPECT_EQ(cohost_find_header(headers, 3, "x-i"), nullptr);
  EXPECT_EQ(cohost_find_header(nullptr, 0, "a"), nullptr);
}

}  // namespace
}  // namespace cohost
