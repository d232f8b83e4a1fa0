// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/worker_identity.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace cohost::supervisor {
namespace {

TEST(WorkerIdentity, WithoutRootThereIsNothingToChoose) {
  const auto own = ResolveIdentity({}, /*as_root=*/false);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_FALSE(own->uid.has_value());
  EXPECT_EQ(IdentityName(*own), IdentityName(ProcessIdentity{}));

  const auto other = ResolveIdentity({"nobody-like-this", {}}, /*as_root=*/false);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  const auto groups = ResolveIdentity({"", {"tty"}}, /*as_root=*/false);
  EXPECT_EQ(groups.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(WorkerIdentity, NamesBecomeNumbers) {
  const auto identity = ResolveIdentity({"nobody", {"tty"}}, /*as_root=*/true);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->uid, 65534u);
  ASSERT_EQ(identity->supplementary_groups.size(), 1u);
  EXPECT_EQ(identity->supplementary_groups[0], 5u);
  EXPECT_EQ(IdentityName(*identity), "nobody");
}

TEST(WorkerIdentity, RootMustBeWrittenToBeMeant) {
  const auto root = ResolveIdentity({"root", {}}, /*as_root=*/true);
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->uid, 0u);
  const auto unnamed = ResolveIdentity({}, /*as_root=*/true);
  // The user `cohost`, or a refusal that says how to make it; never root.
  if (unnamed.ok()) {
    EXPECT_NE(unnamed->uid, 0u);
  } else {
    EXPECT_NE(std::string(unnamed.status().message()).find("useradd"), std::string::npos);
  }
}

TEST(WorkerIdentity, UnknownNamesAreNamed) {
  const auto user = ResolveIdentity({"nobody-like-this", {}}, /*as_root=*/true);
  EXPECT_FALSE(user.ok());
  EXPECT_NE(std::string(user.status().message()).find("nobody-like-this"), std::string::npos);
  const auto group = ResolveIdentity({"nobody", {"no-group-like-this"}}, /*as_root=*/true);
  EXPECT_FALSE(group.ok());
  EXPECT_NE(std::string(group.status().message()).find("no-group-like-this"), std::string::npos);
}

}  // namespace
}  // namespace cohost::supervisor
