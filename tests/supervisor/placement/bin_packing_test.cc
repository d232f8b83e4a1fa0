// SPDX-License-Identifier: Apache-2.0
#include "supervisor/placement/bin_packing.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

Load Item(uint64_t mebibytes, double cpu = 0, std::optional<HoursOfDay> peak = std::nullopt) {
  LoadProfile profile;
  profile.memory = MiB(mebibytes);
  profile.cpu = cpu;
  profile.peak = peak;
  return Load(profile);
}

using Bins = std::vector<size_t>;

TEST(PackIntoBins, OpensAsFewBinsAsNeededAndFillsThemEvenly) {
  const LoadLimits limits(4, MiB(100), 1.0);
  const std::vector<Load> items(5, Item(1));
  EXPECT_EQ(PackIntoBins(items, {}, limits), (Bins{0, 1, 0, 1, 0}));
}

TEST(PackIntoBins, LargeItemsGoFirst) {
  const LoadLimits limits(10, MiB(10), 1.0);
  const Bins bins = PackIntoBins({Item(3), Item(4), Item(7), Item(6)}, {}, limits);
  EXPECT_EQ(bins[2], bins[0]);
  EXPECT_EQ(bins[3], bins[1]);
  EXPECT_NE(bins[0], bins[1]);
}

TEST(PackIntoBins, PeaksThatDoNotMeetShareABin) {
  const LoadLimits limits(10, MiB(100), 1.0);
  const HoursOfDay day{{8 * 60}, {16 * 60}};
  const HoursOfDay night{{20 * 60}, {4 * 60}};
  const std::vector<Load> items = {Item(1, 0.8, day), Item(1, 0.8, day), Item(1, 0.8, night),
                                   Item(1, 0.8, night)};
  const Bins bins = PackIntoBins(items, {}, limits);
  EXPECT_EQ(std::set<size_t>(bins.begin(), bins.end()).size(), 2u);
  EXPECT_NE(bins[0], bins[1]);
  EXPECT_NE(bins[2], bins[3]);
}

TEST(PackIntoBins, PresentBinsComeBeforeNewOnes) {
  const LoadLimits limits(10, MiB(10), 1.0);
  EXPECT_EQ(PackIntoBins({Item(2)}, {Item(9), Item(5), Item(3)}, limits), Bins{2});
  EXPECT_EQ(PackIntoBins({Item(2), Item(8)}, {Item(9), Item(8)}, limits), (Bins{1, 2}));
}

TEST(PackIntoBins, NothingGivesNothing) {
  EXPECT_TRUE(PackIntoBins({}, {Item(1)}, LoadLimits(1, MiB(1), 1.0)).empty());
}

TEST(ChooseToLeave, NobodyWhenAllFit) {
  EXPECT_TRUE(ChooseToLeave({Item(1), Item(2)}, LoadLimits(2, MiB(3), 1.0)).empty());
}

TEST(ChooseToLeave, TheSmallestThatIsEnough) {
  const LoadLimits limits(10, MiB(10), 1.0);
  EXPECT_EQ(ChooseToLeave({Item(6), Item(1), Item(3), Item(2)}, limits), Bins{3});
}

TEST(ChooseToLeave, AsFewAsPossible) {
  const LoadLimits limits(10, MiB(10), 1.0);
  EXPECT_EQ(ChooseToLeave({Item(6), Item(6), Item(2), Item(2), Item(3)}, limits), (Bins{1, 4}));
}

TEST(ChooseToLeave, TheLastOfEqualOnes) {
  EXPECT_EQ(ChooseToLeave({Item(1), Item(1), Item(1), Item(1)}, LoadLimits(2, MiB(9), 1.0)).size(),
            2u);
  EXPECT_EQ(ChooseToLeave({Item(1), Item(1), Item(1)}, LoadLimits(2, MiB(9), 1.0)), Bins{2});
}

}  // namespace
}  // namespace cohost::supervisor
