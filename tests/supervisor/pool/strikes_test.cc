// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/strikes.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace cohost::supervisor {
namespace {

ExitRecord BySignal(int signal, bool out_of_memory = false) {
  ExitRecord record;
  record.signal = signal;
  record.out_of_memory = out_of_memory;
  return record;
}

ServiceTarget Service(uint64_t revision) {
  ServiceTarget service;
  service.id = 1;
  service.revision = revision;
  return service;
}

TEST(Strikes, ACrashIsTheServicesOwn) {
  Strikes strikes;
  EXPECT_EQ(strikes.Against(Service(4)), "");
  EXPECT_TRUE(strikes.NoteDeath(1, 4, /*hung=*/false, BySignal(SIGSEGV)));
  EXPECT_EQ(strikes.Against(Service(4)), "died while loading");
  EXPECT_EQ(strikes.Against(Service(5)), "");
  strikes.Forget(1);
  EXPECT_EQ(strikes.Against(Service(4)), "");
}

TEST(Strikes, AKillFromOutsideMustHappenTwice) {
  for (const int signal : {SIGKILL, SIGTERM}) {
    Strikes strikes;
    EXPECT_FALSE(strikes.NoteDeath(1, 4, /*hung=*/false, BySignal(signal)));
    EXPECT_EQ(strikes.Against(Service(4)), "");
    EXPECT_TRUE(strikes.NoteDeath(1, 4, /*hung=*/false, BySignal(signal)));
    EXPECT_EQ(strikes.Against(Service(4)), "died while loading");
  }
}

TEST(Strikes, AKillForMemoryOrForHangingIsTheServicesOwn) {
  Strikes memory;
  EXPECT_TRUE(memory.NoteDeath(1, 4, /*hung=*/false, BySignal(SIGKILL, true)));
  Strikes hung;
  EXPECT_TRUE(hung.NoteDeath(1, 4, /*hung=*/true, BySignal(SIGKILL)));
  EXPECT_EQ(hung.Against(Service(4)), "did not finish loading");
}

TEST(Strikes, AnUnseenDeathIsTheFirstOfTwo) {
  Strikes strikes;
  strikes.Suspect(1);
  EXPECT_EQ(strikes.Against(Service(4)), "");
  EXPECT_TRUE(strikes.NoteDeath(1, 4, /*hung=*/false, BySignal(SIGKILL)));
}

TEST(Strikes, SurviveTheSupervisor) {
  Strikes strikes;
  strikes.NoteDeath(1, 4, /*hung=*/false, BySignal(SIGSEGV));
  strikes.NoteDeath(2, 1, /*hung=*/false, BySignal(SIGKILL));
  EXPECT_EQ(strikes.Blamed(), (std::map<uint64_t, uint64_t>{{1, 4}}));
  Strikes next;
  next.Restore(strikes.Blamed());
  EXPECT_EQ(next.Against(Service(4)), "died while loading");
}

}  // namespace
}  // namespace cohost::supervisor
