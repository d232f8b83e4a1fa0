// SPDX-License-Identifier: Apache-2.0
//
// A supervisor killed while it lays out trees and removes them.
#include <signal.h>

#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/modules/tree/tree_layout.h"
#include "supervisor/modules/tree/written_files.h"
#include "tests/supervisor/modules/tree/tree_world.h"
#include "tests/support/test_process.h"
#include "tests/support/wait.h"

namespace cohost::supervisor {
namespace {

using ::testing::IsEmpty;

constexpr size_t kFiles = 60;

// Names below the hidden folders of trees that are being made, over all services; and visible
// trees.
struct Trees {
  size_t hidden_names = 0;
  std::vector<std::pair<std::string, std::string>> visible;  // service and id
};

Trees Look(const std::string& folder) {
  Trees trees;
  std::error_code ignored;  // the other process makes and removes what is listed
  for (const auto& service : std::filesystem::directory_iterator(folder, ignored)) {
    for (const auto& tree : std::filesystem::directory_iterator(service, ignored)) {
      const std::string name = tree.path().filename();
      if (name[0] != '.') {
        trees.visible.emplace_back(service.path().filename(), name);
        continue;
      }
      auto entry = std::filesystem::recursive_directory_iterator(tree, ignored);
      for (; entry != std::filesystem::recursive_directory_iterator(); entry.increment(ignored)) {
        ++trees.hidden_names;
      }
    }
  }
  return trees;
}

TEST(TreeKill, WhateverIsSeenAfterAKillIsWhole) {
  TreeWorld world;
  for (size_t i = 0; i < kFiles; ++i) {
    const std::string number = std::to_string(i);
    world.Write("part" + std::to_string(i % 7) + "/" + number + ".dll", Assembly(number));
    world.Write("conf/" + number + ".json", number);
  }
  world.Write("data/seed", "seed");
  const auto published = world.Publish({"data/**"});
  ASSERT_TRUE(published.ok()) << published.status();
  size_t killed_inside = 0;
  for (size_t round = 0; round < 12; ++round) {
    const std::string first = std::to_string(1000 * round);
    const auto process = testing::TestProcess::Start(
        {.command = {testing::ProgramPath("tests/supervisor/modules/tree/lay_out_program"),
                     world.app(), world.state(), first}});
    ASSERT_TRUE(process.ok()) << process.status();
    // Killed when a tree has so many names, on the way up or down.
    const size_t names = 1 + round * 11;
    ASSERT_TRUE(testing::Eventually([&] {
      const Trees trees = Look(world.state() + "/trees");
      return trees.hidden_names >= names || (*process)->WaitUntilEnded(absl::ZeroDuration());
    }));
    ASSERT_TRUE((*process)->Signal(SIGKILL));
    const auto ended = (*process)->WaitUntilEnded();
    ASSERT_TRUE(ended.has_value());
    ASSERT_EQ(ended->signal, SIGKILL);

    killed_inside += Look(world.state() + "/trees").hidden_names > 0 ? 1 : 0;
    world.Reopen();
    const Trees left = Look(world.state() + "/trees");
    EXPECT_EQ(left.hidden_names, 0u);
    for (const auto& [service, id] : left.visible) {
      ASSERT_EQ(id, published->manifest.id());
      const auto written = FindWritten(world.store(), world.layout().PathOf(service, id), service,
                                       published->manifest, WrittenCheck::kContent);
      ASSERT_TRUE(written.ok()) << written.status();
      EXPECT_THAT(written->files, IsEmpty());
    }
    // The same service again, half laid out or not.
    const auto laid = world.layout().LayOut("s" + first, published->manifest,
                                            *PersistRules::Parse({"data/**"}), {});
    ASSERT_TRUE(laid.ok()) << laid.status();
    EXPECT_EQ(ContentOf(laid->path + "/data/seed"), "seed");
  }
  EXPECT_GT(killed_inside, 0u);
}

}  // namespace
}  // namespace cohost::supervisor
