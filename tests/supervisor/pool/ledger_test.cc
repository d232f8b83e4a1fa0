// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/ledger.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "supervisor/pool/generation/sealed_memory.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ServiceTotals Requests(uint64_t count) {
  ServiceTotals totals;
  totals.started = totals.finished = count;
  totals.answered[2] = count;
  totals.latency[3] = count;
  return totals;
}

UniqueFd Copy(int fd) { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

std::string ReadAll(int fd) {
  struct stat status = {};
  EXPECT_EQ(fstat(fd, &status), 0);
  std::string bytes(status.st_size, '\0');
  EXPECT_EQ(pread(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  return bytes;
}

// A ledger as the next supervisor would find it with these bytes.
absl::StatusOr<Ledger> OpenBytes(const std::string& bytes) {
  absl::StatusOr<UniqueFd> memory = MakeSealedMemory("test", bytes.size());
  EXPECT_TRUE(memory.ok());
  EXPECT_EQ(pwrite(memory->get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  return Ledger::Open(*std::move(memory));
}

TEST(Ledger, AddsWhatGenerationsCounted) {
  Ledger ledger = *Ledger::Create();
  ASSERT_TRUE(ledger.Fold("g", 0, 1, {{1, Requests(10)}, {2, Requests(3)}}).ok());
  ASSERT_TRUE(ledger.Fold("g", 0, 2, {{1, Requests(5)}}).ok());
  ASSERT_TRUE(ledger.Fold("h", 0, 1, {{1, Requests(1)}}).ok());
  EXPECT_EQ(ledger.Totals(1), Requests(16));
  EXPECT_EQ(ledger.Totals(2), Requests(3));
  EXPECT_EQ(ledger.Totals(3), ServiceTotals{});
  EXPECT_THAT(ledger.Services(), ElementsAre(1, 2));
  EXPECT_EQ(ledger.LastGeneration("g", 0), 2);
  EXPECT_EQ(ledger.LastGeneration("g", 1), 0);
}

TEST(Ledger, FoldingTwiceChangesNothing) {
  Ledger ledger = *Ledger::Create();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ledger.Fold("g", 0, 1, {{1, Requests(10)}}).ok());
  EXPECT_EQ(ledger.Totals(1), Requests(10));
}

TEST(Ledger, AddsUpTheFailedAcceptsOfASlot) {
  Ledger ledger = *Ledger::Create();
  EXPECT_EQ(ledger.AcceptErrors("g", 0), 0u);
  ASSERT_TRUE(ledger.Fold("g", 0, 1, {}, /*accept_errors=*/4).ok());
  ASSERT_TRUE(ledger.Fold("g", 0, 1, {}, /*accept_errors=*/4).ok());
  ASSERT_TRUE(ledger.Fold("g", 0, 2, {}, /*accept_errors=*/3).ok());
  ASSERT_TRUE(ledger.Fold("g", 1, 1, {}, /*accept_errors=*/9).ok());
  EXPECT_EQ(ledger.AcceptErrors("g", 0), 7u);
  EXPECT_EQ(ledger.AcceptErrors("g", 1), 9u);
}

TEST(Ledger, GenerationsMayEndInAnyOrder) {
  Ledger ledger = *Ledger::Create();
  for (const uint32_t generation : {3, 1, 5, 2, 4}) {
    EXPECT_FALSE(ledger.IsFolded("g", 0, generation));
    ASSERT_TRUE(ledger.Fold("g", 0, generation, {{1, Requests(1)}}).ok());
    EXPECT_TRUE(ledger.IsFolded("g", 0, generation));
  }
  EXPECT_EQ(ledger.Totals(1), Requests(5));
  ASSERT_TRUE(ledger.Fold("g", 0, 500, {}).ok());
  EXPECT_FALSE(ledger.IsFolded("g", 0, 499));
  EXPECT_FALSE(ledger.IsFolded("g", 0, 437));
  EXPECT_TRUE(ledger.IsFolded("g", 0, 436));
}

TEST(Ledger, TheNextSupervisorFindsEverything) {
  Ledger ledger = *Ledger::Create();
  ASSERT_TRUE(ledger.Fold("g", 7, 4, {{1, Requests(10)}}).ok());
  ASSERT_TRUE(ledger.CountRestart("g", 7, RecycleReason::kCrash).ok());
  const Ledger next = *Ledger::Open(Copy(ledger.descriptor()));
  EXPECT_EQ(next.Totals(1), Requests(10));
  EXPECT_TRUE(next.IsFolded("g", 7, 4));
  EXPECT_EQ(next.Restarts("g", 7)[static_cast<size_t>(RecycleReason::kCrash)], 1);
}

// Whoever is killed anywhere in a fold leaves the old state or the new one. A fold writes the table
// that does not count, in any order, and then one word; so: every byte that differs before the word
// is written must not be seen, and the word alone brings in all of them.
TEST(Ledger, AFoldThatIsCutAnywhereIsWholeOrNotAtAll) {
  Ledger ledger = *Ledger::Create(8, 4);
  ASSERT_TRUE(ledger.Fold("g", 0, 1, {{1, Requests(10)}, {2, Requests(20)}}).ok());
  const std::string before = ReadAll(ledger.descriptor());
  ASSERT_TRUE(ledger.Fold("g", 0, 2, {{1, Requests(1)}, {3, Requests(5)}}).ok());
  const std::string after = ReadAll(ledger.descriptor());

  // The commit word is the only thing in the first page that changes.
  std::vector<size_t> changed;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i]) changed.push_back(i);
  }
  std::vector<size_t> word;
  std::vector<size_t> table;
  for (const size_t i : changed) (i < 4096 ? word : table).push_back(i);
  ASSERT_FALSE(word.empty());
  EXPECT_LE(word.back() - word.front(), 7u);
  EXPECT_EQ(word.front() / 8, word.back() / 8);
  ASSERT_FALSE(table.empty());

  std::string forward = before;
  std::string backward = before;
  for (size_t i = 0; i < table.size(); ++i) {
    forward[table[i]] = after[table[i]];
    backward[table[table.size() - 1 - i]] = after[table[table.size() - 1 - i]];
    for (const std::string* torn : {&forward, &backward}) {
      absl::StatusOr<Ledger> old = OpenBytes(*torn);
      ASSERT_TRUE(old.ok()) << old.status();
      EXPECT_EQ(old->Totals(1), Requests(10));
      EXPECT_EQ(old->Totals(2), Requests(20));
      EXPECT_EQ(old->Totals(3), ServiceTotals{});
      EXPECT_FALSE(old->IsFolded("g", 0, 2));
      // The fold is made again, and counts once.
      if (i % 16 != 0) continue;
      ASSERT_TRUE(old->Fold("g", 0, 2, {{1, Requests(1)}, {3, Requests(5)}}).ok());
      EXPECT_EQ(old->Totals(1), Requests(11));
      EXPECT_EQ(old->Totals(3), Requests(5));
    }
  }
  absl::StatusOr<Ledger> fresh = OpenBytes(after);
  ASSERT_TRUE(fresh.ok());
  EXPECT_EQ(fresh->Totals(1), Requests(11));
  EXPECT_EQ(fresh->Totals(3), Requests(5));
  EXPECT_TRUE(fresh->IsFolded("g", 0, 2));
}

TEST(Ledger, WithoutRoomAFoldChangesNothing) {
  Ledger ledger = *Ledger::Create(1, 1);
  EXPECT_TRUE(
      absl::IsResourceExhausted(ledger.Fold("g", 0, 1, {{1, Requests(1)}, {2, Requests(2)}})));
  EXPECT_FALSE(ledger.IsFolded("g", 0, 1));
  EXPECT_THAT(ledger.Services(), IsEmpty());
  ASSERT_TRUE(ledger.CountRestart("g", 0, RecycleReason::kAge).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(ledger.CountRestart("g", 1, RecycleReason::kAge)));
}

TEST(Ledger, GrowsToTenThousandServicesAndKeepsWhatItHas) {
  Ledger ledger = *Ledger::Create(2, 1);
  ASSERT_TRUE(ledger.Fold("g", 0, 1, {{1, Requests(1)}}).ok());
  EXPECT_FALSE(*ledger.MakeRoom(1, 0));
  EXPECT_TRUE(*ledger.MakeRoom(10'000, 100));
  std::map<uint64_t, ServiceTotals> totals;
  for (uint64_t id = 1; id <= 10'000; ++id) totals[id] = Requests(id);
  ASSERT_TRUE(ledger.Fold("g", 0, 2, totals).ok());
  EXPECT_EQ(ledger.Totals(1), Requests(2));
  EXPECT_EQ(ledger.Totals(10'000), Requests(10'000));
  EXPECT_TRUE(ledger.IsFolded("g", 0, 1));
  EXPECT_TRUE(absl::IsResourceExhausted(ledger.MakeRoom(1u << 30, 0).status()));
}

TEST(Ledger, ForgottenRowsAreUsedAgain) {
  Ledger ledger = *Ledger::Create(2, 2);
  ASSERT_TRUE(ledger.Fold("g", 0, 1, {{1, Requests(1)}, {2, Requests(2)}}).ok());
  ledger.ForgetService(1);
  ledger.ForgetService(99);
  EXPECT_EQ(ledger.Totals(1), ServiceTotals{});
  EXPECT_EQ(ledger.Totals(2), Requests(2));
  ASSERT_TRUE(ledger.Fold("h", 0, 1, {{3, Requests(3)}}).ok());
  ledger.ForgetGroup("g");
  ledger.ForgetGroup("gg");
  EXPECT_EQ(ledger.LastGeneration("g", 0), 0);
  EXPECT_EQ(ledger.LastGeneration("h", 0), 1);
  ASSERT_TRUE(ledger.Fold("i", 0, 1, {}).ok());
}

TEST(Ledger, GroupsWhoseNamesBeginAlikeAreApart) {
  Ledger ledger = *Ledger::Create();
  ASSERT_TRUE(ledger.Fold("steady", 0, 5, {}).ok());
  ASSERT_TRUE(ledger.Fold("steady-1", 0, 3, {}).ok());
  EXPECT_EQ(ledger.LastGeneration("steady", 0), 5);
  EXPECT_EQ(ledger.LastGeneration("steady-1", 0), 3);
  EXPECT_EQ(ledger.LastGeneration("stead", 0), 0);
}

TEST(Ledger, RefusesWhatIsNone) {
  Ledger ledger = *Ledger::Create(4, 4);
  const std::string good = ReadAll(ledger.descriptor());
  const auto refuses = [](std::string bytes) {
    return absl::IsInvalidArgument(OpenBytes(bytes).status());
  };
  EXPECT_TRUE(OpenBytes(good).ok());
  EXPECT_TRUE(refuses(good.substr(0, 100)));
  EXPECT_TRUE(refuses(good.substr(0, good.size() - 1)));
  EXPECT_TRUE(refuses(std::string(good.size(), '\0')));
  // Magic, version, capacities, and the counts of the table that counts.
  for (const size_t offset :
       {size_t{0}, size_t{8}, size_t{19}, size_t{23}, size_t{4096}, size_t{4100}}) {
    std::string bad = good;
    bad[offset] = '\x7f';
    EXPECT_TRUE(refuses(bad)) << offset;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(
      Ledger::Open(UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC))).status()));
  UniqueFd unsealed(memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_TRUE(absl::IsInvalidArgument(Ledger::Open(std::move(unsealed)).status()));
}

TEST(Ledger, NobodyCanChangeItsSize) {
  Ledger ledger = *Ledger::Create();
  EXPECT_NE(ftruncate(ledger.descriptor(), 0), 0);
  EXPECT_NE(ftruncate(ledger.descriptor(), 1 << 28), 0);
}

}  // namespace
}  // namespace cohost::supervisor
