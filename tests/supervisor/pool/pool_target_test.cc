// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/pool_target.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/system/unique_fd.h"

namespace cohost::supervisor {
namespace {

TEST(ListenerToken, IsTheSameForEveryDuplicateAndAnotherForEverySocket) {
  const UniqueFd first(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const UniqueFd second(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const UniqueFd copy(fcntl(first.get(), F_DUPFD_CLOEXEC, 0));
  EXPECT_EQ(*ListenerToken(first.get()), *ListenerToken(copy.get()));
  EXPECT_NE(*ListenerToken(first.get()), *ListenerToken(second.get()));
}

TEST(ListenerToken, WhatIsNoSocketHasNone) {
  const UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(ListenerToken(file.get()).ok());
  EXPECT_FALSE(ListenerToken(-1).ok());
}

TEST(SpawnFingerprint, ChangesWithEverythingThatOnlyANewProcessTakesOn) {
  const GroupTarget plain;
  const uint64_t before = SpawnFingerprint(plain);
  EXPECT_NE(before, 0);
  GroupTarget changed = plain;
  changed.identity.uid = 0;
  EXPECT_NE(SpawnFingerprint(changed), before);
  changed = plain;
  changed.identity.gid = 5;
  EXPECT_NE(SpawnFingerprint(changed), before);
  changed = plain;
  changed.identity.supplementary_groups = {7};
  EXPECT_NE(SpawnFingerprint(changed), before);
  changed = plain;
  changed.policy.limits.memory = MiB(1);
  EXPECT_NE(SpawnFingerprint(changed), before);
  changed = plain;
  changed.policy.limits.cpu = 0.5;
  EXPECT_NE(SpawnFingerprint(changed), before);
  changed = plain;
  changed.policy.limits.tasks = 9;
  EXPECT_NE(SpawnFingerprint(changed), before);
  changed = plain;
  changed.policy.limits.open_files = 9;
  EXPECT_NE(SpawnFingerprint(changed), before);
  changed = plain;
  changed.environment = {"A=1"};
  EXPECT_NE(SpawnFingerprint(changed), before);
}

TEST(SpawnFingerprint, IsTheSameForWhatALivingProcessTakesOn) {
  GroupTarget changed;
  const uint64_t before = SpawnFingerprint(changed);
  changed.name = "other";
  changed.policy.workers = 5;
  changed.policy.drain_timeout = absl::Seconds(1);
  EXPECT_EQ(SpawnFingerprint(changed), before);
}

}  // namespace
}  // namespace cohost::supervisor
