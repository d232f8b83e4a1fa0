// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/deps_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/supervisor/dotnet/dotnet_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;

TEST(DepsFile, ReadsAssembliesAndWhoseTheyAre) {
  const auto deps = DepsFile::Parse(R"({
    "runtimeTarget": {"name": "T", "signature": ""},
    "targets": {
      "Other": {"X/1.0.0": {"runtime": {"X.dll": {}}}},
      "T": {
        "App/1.0.0": {"dependencies": {"Json": "13.0.1"}, "runtime": {"App.dll": {}}},
        "Json/13.0.1": {"runtime": {"lib/net6.0/Json.dll":
            {"assemblyVersion": "13.0.0.0", "fileVersion": "13.0.1.25517"}}},
        "Lib/1.0.0": {"runtime": {"Lib.dll": {"assemblyVersion": "1.0.0", "fileVersion": "x"}}}}},
    "libraries": {"App/1.0.0": {"type": "project"}, "Json/13.0.1": {"type": "package"},
                  "Lib/1.0.0": {"type": "project"}}})");
  ASSERT_TRUE(deps.ok()) << deps.status();
  EXPECT_THAT(deps->own, ElementsAre("App.dll", "Lib.dll"));
  EXPECT_THAT(deps->assemblies, ElementsAre(Key("App.dll"), Key("Json.dll"), Key("Lib.dll")));
  const AssetVersion& json = deps->assemblies.at("Json.dll");
  EXPECT_EQ(json.assembly, (std::array<uint32_t, 4>{13, 0, 0, 0}));
  EXPECT_EQ(json.file, (std::array<uint32_t, 4>{13, 0, 1, 25517}));
  EXPECT_EQ(deps->assemblies.at("Lib.dll").file, (std::array<uint32_t, 4>{}));
  EXPECT_EQ(deps->package_versions.at("Json.dll"), "13.0.1");
}

TEST(DepsFile, TheAssemblyVersionDecidesBeforeTheFiles) {
  const AssetVersion low{{10, 0, 0, 0}, {10, 0, 9, 1}};
  EXPECT_LT(low, (AssetVersion{{10, 0, 0, 0}, {10, 0, 12, 0}}));
  EXPECT_LT(low, (AssetVersion{{10, 0, 0, 1}, {1, 0, 0, 0}}));
}

TEST(DepsFile, RefusesWhatIsNone) {
  for (
      const std::string text :
      {"", "[]", "{}", R"({"runtimeTarget": {"name": "T"}, "targets": {}})",
       R"({"runtimeTarget": {"name": "T"}, "targets": {"T": {"A": {"runtime": {"a\nb": {}}}}}})"}) {
    EXPECT_EQ(DepsFile::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(DepsFile, OddValuesAreAsIfNotSaid) {
  const auto deps = DepsFile::Parse(
      R"({"runtimeTarget": {"name": "T"}, "targets": {"T": {"A": 1, "B": {"runtime": []},
          "C": {"runtime": {"C.dll": 1, "D.dll": {"assemblyVersion": 7}}}}}, "libraries": []})");
  ASSERT_TRUE(deps.ok()) << deps.status();
  EXPECT_THAT(deps->own, IsEmpty());
  EXPECT_THAT(deps->assemblies, ElementsAre(Key("C.dll"), Key("D.dll")));
}

}  // namespace
}  // namespace cohost::supervisor
