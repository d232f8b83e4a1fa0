// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/file_role.h"

#include <fcntl.h>

#include <string>

#include "base/system/unique_fd.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/tree/tree_world.h"
#include "tests/supervisor/modules/verify/assembly_bytes.h"

namespace cohost::supervisor {
namespace {

FileRole Role(const std::string& path, const std::string& content, mode_t mode = 0644) {
  TreeWorld world;
  world.Write(path, content, mode);
  const UniqueFd fd(::open((world.app() + "/" + path).c_str(), O_RDONLY | O_CLOEXEC));
  const auto role = RoleOf(fd.get(), path, mode);
  EXPECT_TRUE(role.ok()) << role.status();
  return *role;
}

constexpr FileRole kAssembly = {StoredKind::kAssembly, Placing::kLink, 0444};
constexpr FileRole kLinked = {StoredKind::kFile, Placing::kLink, 0444};
constexpr FileRole kLinkedProgram = {StoredKind::kProgram, Placing::kLink, 0555};
constexpr FileRole kCopied = {StoredKind::kFile, Placing::kCopy, 0444};

TEST(FileRole, AssembliesAreLinked) {
  EXPECT_EQ(Role("Shop.dll", Assembly("x")), kAssembly);
  EXPECT_EQ(Role("Shop.EXE", Assembly("x"), 0755), kAssembly);
  EXPECT_EQ(Role("runtimes/unix/lib/net8.0/A.dll", Assembly("x")), kAssembly);
  EXPECT_EQ(Role("de/Shop.resources.dll", Assembly("x")), kAssembly);
}

TEST(FileRole, ImagesOfOtherSystemsAreNoAssemblies) {
  EXPECT_EQ(Role("runtimes/win/lib/net8.0/A.dll", Assembly("x")), kLinked);
  EXPECT_EQ(Role("runtimes/linux-arm64/lib/net8.0/A.dll", Assembly("x")), kLinked);
  // Native code of Windows: no CLI header.
  const std::string native = AssemblyBytes{.has_cli_header = false}.Build();
  EXPECT_EQ(Role("e_sqlite3.dll", native), kLinked);
}

TEST(FileRole, LibrariesAndProgramsAreLinked) {
  EXPECT_EQ(Role("libe_sqlite3.so", LibraryBytes("x")), kLinked);
  EXPECT_EQ(Role("libe_sqlite3.so.1", LibraryBytes("x"), 0755), kLinkedProgram);
  EXPECT_EQ(Role("Shop", LibraryBytes("x"), 0755), kLinkedProgram);
  EXPECT_EQ(Role("run.sh", "#!/bin/sh\n", 0755), kLinkedProgram);
}

TEST(FileRole, StaticAssetsAreLinked) {
  EXPECT_EQ(Role("wwwroot/css/site.css", "body {}"), kLinked);
  EXPECT_EQ(Role("Shop.pdb", "BSJB"), kLinked);
}

TEST(FileRole, EverythingElseIsCopied) {
  EXPECT_EQ(Role("appsettings.json", "{}"), kCopied);
  EXPECT_EQ(Role("run.sh", "#!/bin/sh\n"), kCopied);
  EXPECT_EQ(Role("appsettings.json", "{}", 0777).placing, Placing::kCopy);
  EXPECT_EQ(Role("appsettings.json", "{}", 0777).mode, 0555u);
  EXPECT_EQ(Role("notes/wwwroot/a", "x"), kCopied);
}

TEST(FileRole, WhatOnlyLooksLikeAnImageIsCopied) {
  const std::string good = Assembly("x");
  EXPECT_EQ(Role("a.dll", ""), kCopied);
  EXPECT_EQ(Role("a.dll", "MZ"), kCopied);
  EXPECT_EQ(Role("a.dll", good.substr(0, 64)), kCopied);
  std::string far = good;
  far.replace(60, 4, "\xFF\xFF\xFF\xFF");
  EXPECT_EQ(Role("a.dll", far), kCopied);
  EXPECT_EQ(Role("a.txt", good), kLinked);
  for (size_t length = 0; length < good.size(); length += 7) {
    const FileRole role = Role("a.dll", good.substr(0, length));
    EXPECT_TRUE(role == kAssembly || role == kLinked || role == kCopied);
  }
}

}  // namespace
}  // namespace cohost::supervisor
