// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/accounts.h"

#include <string>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

// A number that no distribution gives to anybody.
constexpr uid_t kNobodys = 3'999'999'999;

TEST(Accounts, RootIsEverywhere) {
  const absl::StatusOr<User> root = FindUser("root");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->uid, 0U);
  EXPECT_EQ(root->gid, 0U);
  EXPECT_EQ(FindUserById(0)->gid, 0U);
  EXPECT_EQ(*FindUserGroup("root"), 0U);
  EXPECT_EQ(UserName(0), "root");
}

TEST(Accounts, WhatIsNoNameIsNotFound) {
  for (const std::string& name :
       {std::string(), std::string("no-such-account"), std::string("Root"), std::string(" root"),
        std::string("root:x"), std::string("root\n"), std::string("\xff\xfe"), std::string("+"),
        std::string(100'000, 'x')}) {
    EXPECT_EQ(FindUser(name).status().code(), absl::StatusCode::kNotFound) << name.substr(0, 20);
    EXPECT_EQ(FindUserGroup(name).status().code(), absl::StatusCode::kNotFound)
        << name.substr(0, 20);
  }
}

TEST(Accounts, ANameIsNeverTakenForANumber) {
  for (const std::string name : {"0", "1000", "0x0", "+0", "-1"}) {
    EXPECT_EQ(FindUser(name).status().code(), absl::StatusCode::kNotFound) << name;
    EXPECT_EQ(FindUserGroup(name).status().code(), absl::StatusCode::kNotFound) << name;
  }
}

TEST(Accounts, ANameIsItsWholeText) {
  const std::string with_nul("root\0x", 6);
  EXPECT_EQ(FindUser(with_nul).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FindUserGroup(with_nul).status().code(), absl::StatusCode::kNotFound);
}

TEST(Accounts, ANumberWithoutANameIsShownAsItself) {
  EXPECT_EQ(FindUserById(kNobodys).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(UserName(kNobodys), "3999999999");
}

}  // namespace
}  // namespace cohost::supervisor
