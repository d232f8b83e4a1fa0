// SPDX-License-Identifier: Apache-2.0
#include "supervisor/profile/mapped_files.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/system/pidfd.h"
#include "supervisor/process/process_stats.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

std::string Write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::vector<std::optional<MappedFile>> Identify(const std::vector<std::string>& paths) {
  auto files = IdentifyMappedFiles(paths);
  EXPECT_TRUE(files.ok()) << files.status();
  return files.ok() ? *std::move(files) : std::vector<std::optional<MappedFile>>(paths.size());
}

// What this process maps, read as that of a worker is.
ProcessMaps OwnMaps() {
  const UniqueFd pidfd = OpenPidfd(getpid());
  const auto stats = ProcessStats::Open(getpid(), pidfd.get());
  EXPECT_TRUE(stats.ok()) << stats.status();
  ProcessMaps maps;
  SmapsParser parser([&maps](const Mapping& mapping) { maps.Add(mapping); });
  const absl::Status read =
      stats->ReadMaps([&parser](std::string_view part) { return parser.Feed(part); });
  EXPECT_TRUE(read.ok()) << read;
  const absl::Status finished = parser.Finish();
  EXPECT_TRUE(finished.ok()) << finished;
  return maps;
}

TEST(MappedFiles, ALinkIsTheSameFileAndACopyIsAnother) {
  testing::TemporaryFolder folder;
  const std::string first = Write(folder / "first", "content");
  const std::string copy = Write(folder / "copy", "content");
  const std::string link = folder / "link";
  std::filesystem::create_hard_link(first, link);
  const auto files = Identify({first, copy, link});
  ASSERT_EQ(files.size(), 3u);
  ASSERT_TRUE(files[0] && files[1] && files[2]);
  EXPECT_EQ(files[0]->identity, files[2]->identity);
  EXPECT_NE(files[0]->identity, files[1]->identity);
  EXPECT_NE(files[0]->identity.inode, 0u);
  EXPECT_EQ(files[0]->bss, Bytes{0}) << "no ELF file";
}

TEST(MappedFiles, WhatIsNotThereOrNoFileHasNoIdentityAndHidesNoOther) {
  testing::TemporaryFolder folder;
  const std::string there = Write(folder / "there", "");
  const auto files = Identify({folder / "missing", folder.path(), there, "/dev/null"});
  ASSERT_EQ(files.size(), 4u);
  EXPECT_FALSE(files[0]);
  EXPECT_FALSE(files[1]);
  EXPECT_TRUE(files[2]) << "an empty file";
  EXPECT_FALSE(files[3]);
}

TEST(MappedFiles, ManyFilesAreEachTheirOwn) {
  testing::TemporaryFolder folder;
  std::vector<std::string> paths;
  for (int i = 0; i < 600; ++i) paths.push_back(Write(folder / std::to_string(i), "x"));
  const auto files = Identify(paths);
  std::map<FileIdentity, int> seen;
  for (const auto& file : files) {
    ASSERT_TRUE(file);
    ++seen[file->identity];
  }
  EXPECT_EQ(seen.size(), 600u);
  const auto before = OwnMaps().mappings;
  (void)Identify(paths);
  EXPECT_LE(OwnMaps().mappings, before + 50) << "nothing stays mapped";
}

TEST(MappedFiles, AModuleIsFoundInAProcessThatLoadedItWithItsBss) {
  const std::string path = "tests/supervisor/profile/large_bss.so";
  const auto files = Identify({path});
  ASSERT_TRUE(files[0]);
  // 1 MiB and what of it lies in the last page of the data.
  EXPECT_GE(files[0]->bss, KiB(1020));
  EXPECT_LE(files[0]->bss, KiB(1028));
  EXPECT_FALSE(OwnMaps().files.contains(files[0]->identity));
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << dlerror();
  const auto fill = reinterpret_cast<void (*)(int)>(dlsym(module, "fill"));
  ASSERT_NE(fill, nullptr);
  const ProcessMaps before = OwnMaps();
  fill(1);
  const ProcessMaps after = OwnMaps();
  ASSERT_TRUE(before.files.contains(files[0]->identity));
  const FileMemory& untouched = before.files.at(files[0]->identity);
  const FileMemory& touched = after.files.at(files[0]->identity);
  EXPECT_GT(touched.resident, Bytes{0});
  EXPECT_GT(touched.relocated, Bytes{0}) << "pointers that the loader has written";
  EXPECT_GE(touched.following.count, untouched.following.count + KiB(1016).count);
  dlclose(module);
}

TEST(MappedFiles, HeadersThatLieAreNoBss) {
  testing::TemporaryFolder folder;
  std::ifstream source("tests/supervisor/profile/large_bss.so", std::ios::binary);
  const std::string module((std::istreambuf_iterator<char>(source)), {});
  ASSERT_GT(module.size(), 4096u);
  std::string elf32 = module;
  elf32[4] = 1;
  std::string far = module;
  for (int i = 32; i < 40; ++i) far[static_cast<size_t>(i)] = '\x7f';  // e_phoff
  std::string odd = module;
  odd[54] = 3;  // e_phentsize
  const auto files =
      Identify({Write(folder / "cut", module.substr(0, 40)), Write(folder / "32", elf32),
                Write(folder / "far", far), Write(folder / "odd", odd)});
  for (const auto& file : files) {
    ASSERT_TRUE(file);
    EXPECT_EQ(file->bss, Bytes{0});
  }
}

}  // namespace
}  // namespace cohost::supervisor
