// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/restart_backoff.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cohost::supervisor {
namespace {

constexpr absl::Duration kNever = absl::ZeroDuration();

TEST(RestartBackoff, TheFirstFailureIsRetriedAtOnce) {
  RestartBackoff backoff(1);
  EXPECT_EQ(backoff.DelayAfterFailure(kNever), absl::ZeroDuration());
}

TEST(RestartBackoff, DoublesUntilTheCapWithinTheJitter) {
  RestartBackoff backoff(7);
  (void)backoff.DelayAfterFailure(kNever);
  absl::Duration whole = RestartBackoff::kFirst;
  for (int i = 0; i < 2000; ++i) {
    const absl::Duration delay = backoff.DelayAfterFailure(kNever);
    EXPECT_LE(delay, whole);
    EXPECT_GE(delay, whole * (1 - RestartBackoff::kJitter));
    whole = std::min(whole * 2, RestartBackoff::kCap);
  }
  EXPECT_EQ(backoff.failures(), 2001);
}

TEST(RestartBackoff, GoodBehaviourMakesTheNextFailureAFirstOne) {
  RestartBackoff backoff(1);
  for (int i = 0; i < 5; ++i) (void)backoff.DelayAfterFailure(kNever);
  EXPECT_GT(backoff.DelayAfterFailure(RestartBackoff::kGoodBehaviour - absl::Seconds(1)),
            absl::Seconds(1));
  EXPECT_EQ(backoff.DelayAfterFailure(RestartBackoff::kGoodBehaviour), absl::ZeroDuration());
  EXPECT_EQ(backoff.failures(), 1);
}

TEST(RestartBackoff, AnOperatorsStartResetsIt) {
  RestartBackoff backoff(1);
  for (int i = 0; i < 5; ++i) (void)backoff.DelayAfterFailure(kNever);
  backoff.Reset();
  EXPECT_EQ(backoff.DelayAfterFailure(kNever), absl::ZeroDuration());
}

TEST(RestartBackoff, SeedsMakeDifferentDelaysAndEqualSeedsEqualOnes) {
  RestartBackoff a(1);
  RestartBackoff b(2);
  RestartBackoff c(1);
  for (RestartBackoff* each : {&a, &b, &c}) (void)each->DelayAfterFailure(kNever);
  const absl::Duration of_a = a.DelayAfterFailure(kNever);
  EXPECT_NE(of_a, b.DelayAfterFailure(kNever));
  EXPECT_EQ(of_a, c.DelayAfterFailure(kNever));
}

}  // namespace
}  // namespace cohost::supervisor
