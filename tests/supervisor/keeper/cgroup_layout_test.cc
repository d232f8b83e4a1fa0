// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/cgroup_layout.h"

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using Controllers = std::vector<CgroupLayout::Controller>;

bool Always(const std::string&) { return true; }
bool Never(const std::string&) { return false; }

constexpr char kHybridMounts[] =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "30 29 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    "31 29 0:27 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
    "32 29 0:28 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer\n"
    "33 29 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
constexpr char kHybridGroups[] =
    "8:pids:/none-mounted\n4:memory:/own/group\n2:cpu,cpuacct:/\n3:freezer:/\n0::/\n";

TEST(CgroupLayout, HybridSystemIsVersion1) {
  const CgroupLayout layout = ParseCgroupLayout(kHybridMounts, kHybridGroups, &Never);
  EXPECT_EQ(layout.kind, CgroupLayout::Kind::kV1);
  EXPECT_EQ(layout.controllers, (Controllers{{"memory", "/sys/fs/cgroup/memory/own/group"},
                                             {"cpu", "/sys/fs/cgroup/cpu"},
                                             {"freezer", "/sys/fs/cgroup/freezer"}}));
}

TEST(CgroupLayout, UnifiedSystemIsVersion2) {
  const CgroupLayout layout =
      ParseCgroupLayout("25 30 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                        "0::/system.slice/cohost.service\n", &Always);
  EXPECT_EQ(layout.kind, CgroupLayout::Kind::kV2);
  EXPECT_EQ(layout.controllers, (Controllers{{"", "/sys/fs/cgroup/system.slice/cohost.service"}}));
}

TEST(CgroupLayout, MountOfAPartShowsPathsBelowIt) {
  const std::string mount =
      "31 29 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup memory\n";
  EXPECT_EQ(ParseCgroupLayout(mount, "4:memory:/docker/abc/x\n", &Never).controllers,
            (Controllers{{"memory", "/sys/fs/cgroup/memory/x"}}));
  EXPECT_EQ(ParseCgroupLayout(mount, "4:memory:/elsewhere\n", &Never).kind,
            CgroupLayout::Kind::kNone);
  EXPECT_EQ(ParseCgroupLayout("25 30 0:22 / /c rw - cgroup2 x rw\n", "0::/../..\n", &Always).kind,
            CgroupLayout::Kind::kNone);
}

TEST(CgroupLayout, NonsenseIsNone) {
  for (const char* text : {"", "\n\n", " - ", "a b c - cgroup", "::::", "1 2 3 4 5 - cgroup2"}) {
    EXPECT_EQ(ParseCgroupLayout(text, text, &Always).kind, CgroupLayout::Kind::kNone) << text;
  }
}

TEST(CgroupFolderName, IsReadableAndNeverTheSameForTwoNames) {
  EXPECT_EQ(CgroupFolderName("cohost.1.", "worker/steady-1/0/7"), "cohost.1.worker.steady-1.0.7");
  EXPECT_EQ(CgroupFolderName("", "a.b"), "a%2Eb");
  EXPECT_EQ(CgroupFolderName("", "../x y"), "%2E%2E.x%20y");
  EXPECT_NE(CgroupFolderName("", "a/b"), CgroupFolderName("", "a.b"));
}

}  // namespace
}  // namespace cohost::supervisor
