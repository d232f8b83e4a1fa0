// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/application_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/supervisor/dotnet/dotnet_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

AssemblyBytes Assembly(const std::string& name, const std::vector<std::string>& references = {}) {
  AssemblyBytes bytes;
  bytes.name.name = name;
  bytes.references.clear();
  for (const std::string& reference : references) bytes.references.push_back({reference, {}});
  return bytes;
}

class ApplicationLibrariesTest : public ::testing::Test {
 protected:
  std::vector<Library> Read(
      const std::string& assets = R"({"App.dll": {}, "A.dll": {}, "B.dll": {}, "Json.dll": {}})") {
    const auto runtime = FindDotnetRuntime({.configured = folder_.root()});
    EXPECT_TRUE(runtime.ok()) << runtime.status();
    const std::string app = folder_.AddApplication({}, "10.0.0", assets);
    const auto libraries = ReadLibraries(app, *runtime);
    EXPECT_TRUE(libraries.ok()) << libraries.status();
    return libraries.ok() ? *libraries : std::vector<Library>();
  }

  const DotnetFolder folder_;
};

TEST_F(ApplicationLibrariesTest, AreWhatDepsJsonNamesWithoutApplicationAndFramework) {
  folder_.Write("app/A.dll", Assembly("A", {"B", "Json"}).Build());
  folder_.Write("app/B.dll", Assembly("B").Build());
  folder_.Write("app/Json.dll", Assembly("Json").Build());
  folder_.Write("app/Stray.dll", Assembly("Stray").Build());
  const std::vector<Library> libraries = Read();
  ASSERT_THAT(libraries, SizeIs(2));
  EXPECT_EQ(libraries[0].name, "A");
  EXPECT_EQ(libraries[0].package_version, "1.0.0");
  EXPECT_THAT(libraries[0].references, ElementsAre("B"));
  EXPECT_THAT(libraries[0].alarms, IsEmpty());
  EXPECT_EQ(libraries[1].name, "B");
}

TEST_F(ApplicationLibrariesTest, SatellitesGoWithTheirLibrary) {
  folder_.Write("app/A.dll", Assembly("A").Build());
  folder_.Write("app/de/A.resources.dll", Assembly("A.resources").Build());
  folder_.Write("app/de/B.resources.dll", Assembly("B.resources").Build());
  folder_.Write("app/deep/de/A.resources.dll", Assembly("A.resources").Build());
  EXPECT_THAT(Read()[0].satellites, ElementsAre("de/A.resources.dll"));
}

TEST_F(ApplicationLibrariesTest, CodeForEachSystemIsAnObstacle) {
  folder_.Write("app/A.dll", Assembly("A").Build());
  folder_.Write("app/runtimes/unix/lib/net8.0/A.dll", Assembly("A").Build());
  EXPECT_THAT(Read()[0].obstacle, HasSubstr("runtimes/unix/lib/net8.0/A.dll"));
}

TEST_F(ApplicationLibrariesTest, AnotherNameThanTheFilesIsAnObstacle) {
  folder_.Write("app/A.dll", Assembly("Ax\ny").Build());
  const std::string obstacle = Read()[0].obstacle;
  EXPECT_THAT(obstacle, HasSubstr("named Ax"));
  EXPECT_EQ(obstacle.find('\n'), std::string::npos);
}

TEST_F(ApplicationLibrariesTest, LoadingNativeCodeByNameIsAnAlarm) {
  AssemblyBytes bytes = Assembly("A", {"System.Runtime.InteropServices"});
  bytes.uses = {{"System.Runtime.InteropServices", "NativeLibrary", "Load"}};
  folder_.Write("app/A.dll", bytes.Build());
  EXPECT_THAT(Read()[0].alarms,
              ElementsAre("it calls System.Runtime.InteropServices.NativeLibrary.Load"));
}

TEST_F(ApplicationLibrariesTest, ADamagedOneIsNamed) {
  folder_.Write("app/A.dll", "MZ");
  const auto runtime = FindDotnetRuntime({.configured = folder_.root()});
  const std::string app = folder_.AddApplication({}, "10.0.0", R"({"App.dll": {}, "A.dll": {}})");
  const auto libraries = ReadLibraries(app, *runtime);
  EXPECT_EQ(libraries.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(libraries.status().message()), HasSubstr("A.dll"));
}

}  // namespace
}  // namespace cohost::supervisor
