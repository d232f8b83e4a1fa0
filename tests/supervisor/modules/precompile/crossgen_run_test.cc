// SPDX-License-Identifier: Apache-2.0
//
// The real compiler on a real assembly: both come from the .NET SDK and, for crossgen2, a package
// source. Skipped where there is no SDK, or where the package cannot be had.
#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/system/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/modules/precompile/precompiler.h"
#include "supervisor/modules/verify/assembly_file.h"
#include "tests/fakes/process_runner.h"
#include "tests/supervisor/modules/tree/tree_world.h"
#include "tests/support/test_process.h"
#include "tests/support/wait.h"

namespace cohost::supervisor {
namespace {

namespace fs = std::filesystem;

constexpr char kDotnetRoot[] = "/usr/share/dotnet";
constexpr absl::Duration kSdkLimit = absl::Minutes(4);

std::string FrameworkFolder() {
  fs::path newest;
  std::error_code error;
  const std::string shared = std::string(kDotnetRoot) + "/shared/Microsoft.NETCore.App";
  for (const auto& entry : fs::directory_iterator(shared, error)) {
    newest = std::max(newest, entry.path());
  }
  return newest;
}

std::vector<std::string> Environment(const std::string& home) {
  std::vector<std::string> environment = {"PATH=/usr/bin:/bin",
                                          "HOME=" + home,
                                          "DOTNET_CLI_HOME=" + home,
                                          "DOTNET_NOLOGO=1",
                                          "DOTNET_CLI_TELEMETRY_OPTOUT=1",
                                          "MSBUILDDISABLENODEREUSE=1"};
  // How this machine reaches package sources.
  for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
                           "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    if (const char* value = std::getenv(name)) {
      environment.push_back(std::string(name) + "=" + value);
    }
  }
  return environment;
}

// Runs programs as children of the test.
absl::StatusOr<RunResult> RunHere(const RunRequest& request) {
  std::vector<std::string> command = {request.program};
  command.insert(command.end(), request.arguments.begin(), request.arguments.end());
  const auto process = testing::TestProcess::Start(
      {.command = command, .environment = request.environment, .clean_environment = true});
  if (!process.ok()) return process.status();
  const auto ended = (*process)->WaitUntilEnded(request.limit);
  if (!ended.has_value()) return absl::DeadlineExceededError("too long");
  return RunResult{.exit_code = ended->exit_code, .signal = ended->signal};
}

constexpr char kSource[] = R"(using System.Linq;
namespace Sample;
public static class Numbers {
  public static int Sum(int first, int count) => Enumerable.Range(first, count).Where(n => n % 3 != 0).Sum();
}
)";
constexpr char kProject[] = R"(<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup><TargetFramework>net$$.0</TargetFramework></PropertyGroup>
</Project>
)";

TEST(CrossgenRun, CompilesAnAssemblyOfTheSdkToReadyToRun) {
  const std::string framework = FrameworkFolder();
  const std::string dotnet = std::string(kDotnetRoot) + "/dotnet";
  if (framework.empty() || !fs::exists(dotnet) || !fs::exists(std::string(kDotnetRoot) + "/sdk")) {
    GTEST_SKIP() << "no .NET SDK here";
  }
  const std::string version = fs::path(framework).filename();
  TreeWorld world;
  FakeProcessRunner runner(RunHere);

  const fs::path work = world.state() + "/work";
  fs::create_directories(work / "home");
  const std::vector<std::string> environment = Environment(work / "home");
  std::string project = kProject;
  project.replace(project.find("$$"), 2, version.substr(0, version.find('.')));
  std::ofstream(work / "Sample.csproj") << project;
  std::ofstream(work / "Numbers.cs") << kSource;
  const auto built = RunHere({.program = dotnet,
                              .arguments = {"build", work / "Sample.csproj", "-c", "Release", "-o",
                                            work / "out", "-v", "q"},
                              .environment = environment,
                              .limit = kSdkLimit});
  ASSERT_TRUE(built.ok()) << built.status();
  ASSERT_EQ(built->exit_code, 0);
  world.Write("Sample.dll", ContentOf(work / "out/Sample.dll"));

  CrossgenFinder finder(runner, {.dotnet = dotnet,
                                 .folder = world.state() + "/precompile",
                                 .environment = environment,
                                 .restore_limit = kSdkLimit});
  const auto crossgen = finder.Find(version);
  if (!crossgen.ok()) GTEST_SKIP() << crossgen.status();
  const auto published = world.Publish();
  ASSERT_TRUE(published.ok()) << published.status();
  Precompiler precompiler(world.store(), runner,
                          {.folder = world.state() + "/precompile", .environment = environment});
  const PrecompileTarget target = {"Microsoft.NETCore.App " + version, {framework}, ""};
  const auto compiled = precompiler.Precompile(published->manifest, *crossgen, target);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_THAT(compiled->notices, ::testing::IsEmpty());
  ASSERT_EQ(compiled->compiled, 1u);

  const TreeEntry& image = *compiled->manifest.Find("Sample.dll");
  EXPECT_NE(image.stored_hash, image.source_hash);
  const auto stored = world.store().Find(image.stored_hash, StoredKind::kAssembly);
  ASSERT_TRUE(stored.ok()) << stored.status();
  const auto fd = OpenFile(stored->path, O_RDONLY);
  ASSERT_TRUE(fd.ok()) << fd.status();
  const auto assembly = ReadAssembly(fd->get());
  ASSERT_TRUE(assembly.ok()) << assembly.status();
  EXPECT_TRUE(assembly->is_ready_to_run);
  EXPECT_EQ(assembly->name.name, "Sample");
  // Once more is known, and compiled from scratch the same bytes come out, so that hosts agree.
  EXPECT_EQ(precompiler.Precompile(published->manifest, *crossgen, target)->cached, 1u);
  fs::remove(world.state() + "/precompile/cache");
  Precompiler other(world.store(), runner,
                    {.folder = world.state() + "/precompile", .environment = environment});
  const auto again = other.Precompile(published->manifest, *crossgen, target);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->compiled, 1u);
  EXPECT_EQ(again->manifest.id(), compiled->manifest.id());
}

}  // namespace
}  // namespace cohost::supervisor
