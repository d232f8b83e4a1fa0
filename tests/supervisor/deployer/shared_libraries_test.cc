// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/shared_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/supervisor/dotnet/dotnet_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

AssemblyBytes Assembly(const std::string& name, const std::vector<std::string>& references = {},
                       uint16_t build = 0) {
  AssemblyBytes bytes;
  bytes.name = {name, {1, 0, build, 0}};
  bytes.references.clear();
  for (const std::string& reference : references) bytes.references.push_back({reference, {}});
  return bytes;
}

// An application with Upper.dll, which references Lower.dll, and Other.dll.
class SharedLibrariesTest : public ::testing::Test {
 protected:
  SharedLibrariesTest() {
    policy_.share_libraries = LibrarySharing::kListed;
    policy_.shared_libraries = {"*"};
    Write("Upper", Assembly("Upper", {"Lower"}));
    Write("Lower", Assembly("Lower"));
    Write("Other", Assembly("Other"));
  }

  void Write(const std::string& name, const AssemblyBytes& bytes) {
    folder_.Write(absl::StrCat("app/", name, ".dll"), bytes.Build());
  }

  PreparedService Publish(
      const std::string& name,
      const std::string& assets =
          R"({"App.dll": {}, "Upper.dll": {}, "Lower.dll": {}, "Other.dll": {}})",
      const std::string& version = "1.0.0") {
    PreparedService out;
    out.service.name = name;
    out.service.runtime = Runtime::kDotnet;
    out.service.dotnet.app = folder_.AddApplication({}, "10.0.0", assets);
    folder_.Write("app/App.deps.json", DotnetFolder::Deps(assets, version));
    auto tree = trees_.Publish(out.service, {});
    EXPECT_TRUE(tree.ok()) << tree.status();
    out.hosting.isolation = Isolation::kShared;
    out.hosting.frameworks = FindDotnetRuntime({.configured = folder_.root()})->Usual();
    out.module = tree->app;
    out.tree = tree->manifest;
    return out;
  }

  SharedLibraries::Set LayOut(const PreparedService& service) {
    const auto runtime = FindDotnetRuntime({.configured = folder_.root()});
    EXPECT_TRUE(runtime.ok()) << runtime.status();
    auto set = libraries_.LayOut(service, policy_, *runtime);
    EXPECT_TRUE(set.ok()) << set.status();
    return set.ok() ? *std::move(set) : SharedLibraries::Set();
  }
  std::vector<std::string> PathsOf(const std::string& service) {
    return LayOut(Publish(service)).paths;
  }
  // The path of one of them; empty: it is none.
  static std::string PathOf(const std::vector<std::string>& paths, const std::string& name) {
    for (const std::string& path : paths) {
      if (path.ends_with(absl::StrCat("/", name, ".dll"))) return path;
    }
    return "";
  }

  const DotnetFolder folder_;
  std::vector<std::string> notices_;
  std::unique_ptr<ModuleStore> store_ =
      ModuleStore::Open({.folder = folder_.path("state/modules")}, &notices_).value();
  ApplicationTrees trees_{*store_, folder_.path("state")};
  SharedLibraries libraries_{trees_};
  DotnetPolicy policy_;
};

TEST_F(SharedLibrariesTest, ServicesWithEqualFilesGetTheSamePaths) {
  const std::vector<std::string> first = PathsOf("first");
  EXPECT_THAT(first, SizeIs(3));
  EXPECT_EQ(PathsOf("second"), first);
  for (const std::string& path : first) EXPECT_TRUE(fs::exists(path)) << path;
}

TEST_F(SharedLibrariesTest, AnotherVersionBelowIsAnotherPathForAllAbove) {
  const std::vector<std::string> first = PathsOf("first");
  Write("Lower", Assembly("Lower", {}, 1));
  const std::vector<std::string> second = PathsOf("second");
  EXPECT_NE(PathOf(second, "Lower"), PathOf(first, "Lower"));
  // Its own bytes are the same.
  EXPECT_NE(PathOf(second, "Upper"), PathOf(first, "Upper"));
  EXPECT_EQ(PathOf(second, "Other"), PathOf(first, "Other"));
}

TEST_F(SharedLibrariesTest, ALibraryIsOneInodeWithTheStoreAndHasItsSatellites) {
  folder_.Write("app/de/Lower.resources.dll", Assembly("Lower.resources").Build());
  const PreparedService service = Publish("first");
  const std::string path = PathOf(LayOut(service).paths, "Lower");
  EXPECT_TRUE(fs::exists(path.substr(0, path.rfind('/')) + "/de/Lower.resources.dll"));
  struct stat laid {
  }, stored{};
  ASSERT_EQ(::stat(path.c_str(), &laid), 0);
  const auto file =
      store_->Find(service.tree->Find("Lower.dll")->stored_hash, StoredKind::kAssembly);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(::stat(file->path.c_str(), &stored), 0);
  EXPECT_EQ(laid.st_ino, stored.st_ino);
}

TEST_F(SharedLibrariesTest, AnotherSatelliteIsAnotherLibrary) {
  const std::vector<std::string> first = PathsOf("first");
  folder_.Write("app/de/Lower.resources.dll", Assembly("Lower.resources").Build());
  const std::vector<std::string> second = PathsOf("second");
  EXPECT_NE(PathOf(second, "Lower"), PathOf(first, "Lower"));
  EXPECT_NE(PathOf(second, "Upper"), PathOf(first, "Upper"));
}

TEST_F(SharedLibrariesTest, WhatAReviewedOneIsBoundToDecidesToo) {
  const std::string assets =
      R"({"App.dll": {}, "SQLitePCLRaw.core.dll": {}, "SQLitePCLRaw.x.dll": {}, "Other.dll": {}})";
  Write("SQLitePCLRaw.core", Assembly("SQLitePCLRaw.core"));
  Write("SQLitePCLRaw.x", Assembly("SQLitePCLRaw.x", {"SQLitePCLRaw.core"}));
  const std::vector<std::string> first = LayOut(Publish("first", assets, "2.1.11")).paths;
  ASSERT_NE(PathOf(first, "SQLitePCLRaw.core"), "");
  // The file itself stays the same.
  Write("SQLitePCLRaw.x", Assembly("SQLitePCLRaw.x", {"SQLitePCLRaw.core"}, 1));
  const std::vector<std::string> second = LayOut(Publish("second", assets, "2.1.11")).paths;
  EXPECT_NE(PathOf(second, "SQLitePCLRaw.core"), PathOf(first, "SQLitePCLRaw.core"));
  EXPECT_EQ(PathOf(second, "Other"), PathOf(first, "Other"));
}

TEST_F(SharedLibrariesTest, WhatItKeepsInsideIsBesideIt) {
  policy_.share_libraries = LibrarySharing::kReviewed;
  policy_.shared_libraries.clear();
  const std::string model = "Microsoft.Extensions.DependencyModel";
  Write("Microsoft.EntityFrameworkCore.Sqlite",
        Assembly("Microsoft.EntityFrameworkCore.Sqlite", {model}));
  Write(model, Assembly(model));
  const auto publish = [&](const std::string& name) {
    return Publish(name,
                   R"({"App.dll": {}, "Microsoft.EntityFrameworkCore.Sqlite.dll": {},
                       "Microsoft.Extensions.DependencyModel.dll": {}})",
                   "10.0.0");
  };
  const std::vector<std::string> first = LayOut(publish("first")).paths;
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_TRUE(
      fs::exists(absl::StrCat(first[0].substr(0, first[0].rfind('/')), "/", model, ".dll")));
  Write(model, Assembly(model, {}, 1));
  EXPECT_NE(LayOut(publish("second")).paths, first);
}

TEST_F(SharedLibrariesTest, WhoDoesNotShareGetsNone) {
  PreparedService service = Publish("first");
  policy_.share_libraries = LibrarySharing::kNone;
  EXPECT_THAT(LayOut(service).paths, IsEmpty());
  policy_.share_libraries = LibrarySharing::kListed;
  service.service.dotnet.share_libraries = false;
  EXPECT_THAT(LayOut(service).paths, IsEmpty());
  service.service.dotnet.share_libraries = true;
  service.hosting.isolation = Isolation::kSolo;
  EXPECT_THAT(LayOut(service).paths, IsEmpty());
}

TEST_F(SharedLibrariesTest, WhatIsListedAndNotSharedIsTold) {
  policy_.shared_libraries = {"Upper"};
  const SharedLibraries::Set set = LayOut(Publish("first"));
  EXPECT_THAT(set.paths, IsEmpty());
  EXPECT_THAT(set.notices,
              ElementsAre(HasSubstr("Upper for itself, although the list has it: it references "
                                    "Lower, which is not shared")));
}

}  // namespace
}  // namespace cohost::supervisor
