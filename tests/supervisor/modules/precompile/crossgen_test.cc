// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/precompile/crossgen.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/process_runner.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kVersion[] = "10.0.12";

std::string PackageFolder() {
  return "microsoft.netcore.app.crossgen2." + RuntimeIdentifier() + "/" + kVersion;
}

class CrossgenTest : public ::testing::Test {
 protected:
  CrossgenTest() {
    options_.folder = folder_ / "state/precompile";
    options_.nuget_packages = folder_ / "nuget";
    options_.dotnet = Write("dotnet", 0755);
  }

  std::string Write(const std::string& path, mode_t mode = 0644) {
    const fs::path full = folder_ / path;
    fs::create_directories(full.parent_path());
    std::ofstream(full) << path;
    EXPECT_EQ(::chmod(full.c_str(), mode), 0);
    return full;
  }
  // As NuGet leaves it.
  void MakePackage(const std::string& packages, const std::string& program = "crossgen2") {
    Write(packages + "/" + PackageFolder() + "/tools/" + program, 0744);
    Write(packages + "/" + PackageFolder() + "/tools/libjitinterface_x64.so", 0744);
  }
  CrossgenFinder Finder() { return CrossgenFinder(runner_, options_); }

  testing::TemporaryFolder folder_;
  CrossgenOptions options_;
  // Restores into the folder that it is told.
  FakeProcessRunner runner_{[this](const RunRequest& request) -> absl::StatusOr<RunResult> {
    if (restored_) {
      MakePackage(fs::relative(request.arguments[3], folder_.path()));
      return RunResult{.exit_code = 0};
    }
    return restore_result_;
  }};
  bool restored_ = false;
  absl::StatusOr<RunResult> restore_result_ =
      RunResult{.exit_code = 1, .output = "error NU1301: no network\n"};
};

TEST_F(CrossgenTest, TakesTheConfiguredOne) {
  options_.configured = folder_ / "own";
  Write("own/crossgen2", 0755);
  const auto found = Finder().Find(kVersion);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->command, ElementsAre(folder_ / "own/crossgen2"));
  EXPECT_TRUE(found->id.starts_with("crossgen2 sha256:")) << found->id;
  options_.configured = folder_ / "own/crossgen2";
  EXPECT_EQ(Finder().Find(kVersion)->id, found->id);
  // Which says nothing of the one that NuGet has.
  MakePackage("nuget");
  options_.configured = folder_ / "missing";
  EXPECT_EQ(Finder().Find(kVersion).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CrossgenTest, CopiesThePackageThatNuGetHas) {
  MakePackage("nuget");
  const auto found = Finder().Find(kVersion);
  ASSERT_TRUE(found.ok()) << found.status();
  const std::string program = options_.folder + "/crossgen2-10.0.12/crossgen2";
  EXPECT_EQ(found->id, "crossgen2 10.0.12");
  EXPECT_THAT(found->command, ElementsAre(program));
  struct stat status {};
  ASSERT_EQ(::stat(program.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0755u);
  EXPECT_TRUE(fs::exists(options_.folder + "/crossgen2-10.0.12/libjitinterface_x64.so"));
  EXPECT_THAT(runner_.requests(), IsEmpty());
  // The next start needs the package no more.
  fs::remove_all(folder_ / "nuget");
  EXPECT_TRUE(Finder().Find(kVersion).ok());
}

TEST_F(CrossgenTest, ACompilerThatIsADotnetProgramRunsByIt) {
  MakePackage("nuget", "crossgen2.dll");
  const auto found = Finder().Find(kVersion);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->command,
              ElementsAre(options_.dotnet, options_.folder + "/crossgen2-10.0.12/crossgen2.dll"));
}

TEST_F(CrossgenTest, RestoresThePackageByAnOrdinaryProject) {
  restored_ = true;
  options_.environment = {"PATH=/bin", "HOME=/root", "HTTPS_PROXY=http://proxy"};
  const auto found = Finder().Find(kVersion);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_THAT(runner_.requests(), SizeIs(1));
  const RunRequest request = runner_.requests()[0];
  EXPECT_EQ(request.program, options_.dotnet);
  EXPECT_EQ(request.arguments[0], "restore");
  EXPECT_TRUE(fs::exists(request.arguments[1]));
  EXPECT_TRUE(request.low_priority);
  EXPECT_EQ(request.limit, options_.restore_limit);
  EXPECT_THAT(request.environment, Contains("HTTPS_PROXY=http://proxy"));
  EXPECT_THAT(request.environment, Contains("HOME=" + options_.folder + "/restore-10.0.12/home"));
  EXPECT_THAT(request.environment, ::testing::Not(Contains("HOME=/root")));
  EXPECT_TRUE(Finder().Find(kVersion).ok());
  EXPECT_THAT(runner_.requests(), SizeIs(1));
}

TEST_F(CrossgenTest, AFailureSaysWhatToDoAndIsNotTriedAgain) {
  CrossgenFinder finder = Finder();
  const auto found = finder.Find(kVersion);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("NU1301: no network"));
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("Microsoft.NETCore.App.Crossgen2." + RuntimeIdentifier() + " 10.0.12"));
  restored_ = true;
  EXPECT_FALSE(finder.Find(kVersion).ok());
  EXPECT_THAT(runner_.requests(), SizeIs(1));
  // Another version is another question; so is another start.
  EXPECT_FALSE(finder.Find("10.0.13").ok());
  EXPECT_THAT(runner_.requests(), SizeIs(2));
  EXPECT_TRUE(Finder().Find(kVersion).ok());
}

TEST_F(CrossgenTest, ARestoreThatWasCancelledIsTriedAgain) {
  restore_result_ = absl::CancelledError("the supervisor ends");
  CrossgenFinder finder = Finder();
  EXPECT_EQ(finder.Find(kVersion).status().code(), absl::StatusCode::kCancelled);
  restored_ = true;
  EXPECT_TRUE(finder.Find(kVersion).ok());
}

TEST_F(CrossgenTest, WithoutDotnetNothingIsRun) {
  options_.dotnet = folder_ / "missing";
  EXPECT_EQ(Finder().Find(kVersion).status().code(), absl::StatusCode::kNotFound);
  options_.dotnet = "";
  EXPECT_EQ(Finder().Find(kVersion).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(runner_.requests(), IsEmpty());
}

TEST_F(CrossgenTest, AnIncompletePackageIsNotTaken) {
  Write("nuget/" + PackageFolder() + "/tools/README", 0644);
  EXPECT_EQ(Finder().Find(kVersion).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(options_.folder + "/crossgen2-10.0.12"));
}

TEST_F(CrossgenTest, VersionsThatAreNoneReachNoFile) {
  for (const std::string version : {"", "../../x", "10.0.12\"/>", "10.0 12"}) {
    EXPECT_EQ(Finder().Find(version).status().code(), absl::StatusCode::kNotFound) << version;
  }
  EXPECT_THAT(runner_.requests(), IsEmpty());
}

TEST(CrossgenProject, NamesThePackageAndItsVersion) {
  const std::string project = RestoreProject("8.0.1-preview.2");
  EXPECT_THAT(project, HasSubstr("<TargetFramework>net8.0</TargetFramework>"));
  EXPECT_THAT(project, HasSubstr("<PackageDownload Include=\"Microsoft.NETCore.App.Crossgen2." +
                                 RuntimeIdentifier() + "\" Version=\"[8.0.1-preview.2]\" />"));
}

TEST(CrossgenArguments, NameInputOutputTargetAndReferences) {
  const std::vector<std::string> arguments = CompileArguments(
      {.input = "/in/A.dll", .output = "/out/0.dll", .reference_folders = {"/fw", "/refs"}});
  EXPECT_EQ(arguments[0], "/in/A.dll");
  EXPECT_THAT(arguments, Contains("--out:/out/0.dll"));
  EXPECT_THAT(arguments, Contains("--targetos:linux"));
  EXPECT_THAT(arguments, Contains("-O"));
  EXPECT_THAT(arguments, Contains("--reference:/fw/*.dll"));
  EXPECT_THAT(arguments, Contains("--reference:/refs/*.dll"));
  EXPECT_EQ(CompileFlags("native"), CompileFlags("") + " --instruction-set:native");
}

}  // namespace
}  // namespace cohost::supervisor
