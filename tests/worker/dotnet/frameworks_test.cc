// SPDX-License-Identifier: Apache-2.0
//
// Applications of two versions of .NET on one host. The second version comes as the packages that
// self-contained applications are made of, by an ordinary restore; skipped where it cannot be had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/http_client.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_process.h"
#include "tests/support/wait.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSecond[] = "11.0.0";
constexpr char kFrameworks[][32] = {"Microsoft.NETCore.App", "Microsoft.AspNetCore.App"};
constexpr absl::Duration kRestoreLimit = absl::Minutes(4);

std::string ContentOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A package of the second version; nothing when it cannot be had.
std::optional<fs::path> Restore(const std::string& framework, const TemporaryFolder& work) {
  const std::string package = absl::StrCat(framework, ".Runtime.linux-x64");
  const std::string project = work / (framework + ".csproj");
  std::ofstream(project) << "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFramework>"
                         << "net10.0</TargetFramework><NuGetAudit>false</NuGetAudit>"
                         << "</PropertyGroup><ItemGroup><PackageDownload Include=\"" << package
                         << "\" Version=\"[" << kSecond << "]\" /></ItemGroup></Project>";
  const std::string packages = work / "packages";
  const auto restore = TestProcess::Start(
      {.command = {DotnetRoot() + "/dotnet", "restore", project, "--packages", packages,
                   "--disable-build-servers"},
       .environment = {"DOTNET_CLI_HOME=" + work.path(), "DOTNET_NOLOGO=1",
                       "DOTNET_CLI_TELEMETRY_OPTOUT=1", "MSBUILDDISABLENODEREUSE=1"}});
  if (!restore.ok()) return std::nullopt;
  const auto ended = (*restore)->WaitUntilEnded(kRestoreLimit);
  if (!ended || ended->exit_code != 0) return std::nullopt;
  std::string folder = package;
  for (char& c : folder) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return fs::path(packages) / folder / kSecond / "runtimes/linux-x64";
}

// A .NET that has both versions, where every user may read it.
class TwoFrameworks : public DotnetTest {
 protected:
  void SetUp() override {
    DotnetTest::SetUp();
    if (IsSkipped()) return;
    chmod(folder_.path().c_str(), 0755);
    const fs::path installed = DotnetRoot();
    fs::create_directories(root() / "shared");
    for (const char* framework : kFrameworks) {
      const std::optional<fs::path> package = Restore(framework, folder_);
      if (!package) GTEST_SKIP() << "no package of " << framework << " " << kSecond << " to be had";
      const fs::path second = root() / "shared" / framework / kSecond;
      fs::create_directories(second);
      for (const fs::path& part : {*package / "lib/net11.0", *package / "native"}) {
        if (fs::exists(part)) fs::copy(part, second, fs::copy_options::recursive);
      }
      for (const auto& version : fs::directory_iterator(installed / "shared" / framework)) {
        fs::create_directory_symlink(version, second.parent_path() / version.path().filename());
      }
    }
    const fs::path host = root() / "host/fxr" / kSecond;
    fs::create_directories(host);
    fs::copy(root() / "shared" / kFrameworks[0] / kSecond / "libhostfxr.so", host);
  }
  fs::path root() const { return folder_ / "dotnet"; }

  // The minimal application for the second version; its folder.
  std::string ForTheSecond() {
    const std::string folder = folder_ / "second";
    LayOut("Minimal", folder);
    const fs::path config = fs::path(folder) / "Minimal.runtimeconfig.json";
    const std::string text = ContentOf(config);
    fs::remove(config);
    std::ofstream(config) << std::regex_replace(text, std::regex(R"(10\.0\.0)"), kSecond);
    return folder;
  }
  std::string MapsOf(const std::string& service) const {
    const auto group = host_->Service(service);
    if (!group.ok()) return std::string(group.status().message());
    return ContentOf(
        absl::StrCat("/proc/", host_->WorkerPids().at(group->group() + "/0"), "/maps"));
  }
  std::string Get(const std::string& service) const {
    auto client = HttpClient::Connect(host_->Port(service));
    if (!client.ok()) return std::string(client.status().message());
    const absl::Status sent = client->Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto answer = sent.ok() ? client->Receive() : sent;
    return answer.ok() ? answer->body : std::string(answer.status().message());
  }
  void Start(const std::string& services) {
    host_ = StartDotnetHost("services:\n" + services, {"DOTNET_ROOT=" + root().string()});
    ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
  }

  TemporaryFolder folder_;
  std::unique_ptr<TestHost> host_;
};

TEST_F(TwoFrameworks, ServeSideBySideInWorkersOfTheirOwn) {
  const std::string second = ForTheSecond();
  std::string services;
  for (const char* name : {"a1", "a2"}) services += ServiceLine({.name = "Minimal"}, name);
  for (const char* name : {"b1", "b2"}) {
    services += ServiceLine({.name = "Minimal"}, name, "", second);
  }
  Start(services);
  if (HasFatalFailure()) return;
  for (const char* name : {"a1", "a2", "b1", "b2"}) EXPECT_EQ(Get(name), "hello") << name;
  EXPECT_EQ(host_->WorkerPids().size(), 2u);
  EXPECT_EQ(host_->Service("a1")->group(), host_->Service("a2")->group());
  EXPECT_EQ(host_->Service("b1")->group(), host_->Service("b2")->group());
  const std::string of_second = absl::StrCat("/", kSecond, "/libcoreclr.so");
  EXPECT_THAT(MapsOf("b1"), HasSubstr(of_second));
  EXPECT_THAT(MapsOf("a1"), AllOf(HasSubstr("/libcoreclr.so"), Not(HasSubstr(of_second))));
}

TEST_F(TwoFrameworks, AloneAnApplicationHasItsOwn) {
  Start(ServiceLine({.name = "Minimal"}, "usual") +
        ServiceLine({.name = "Minimal"}, "alone", "isolation: solo", ForTheSecond()));
  if (HasFatalFailure()) return;
  EXPECT_EQ(Get("alone"), "hello");
  EXPECT_EQ(Get("usual"), "hello");
  EXPECT_THAT(MapsOf("alone"), HasSubstr(absl::StrCat("/", kSecond, "/libcoreclr.so")));
}

}  // namespace
}  // namespace cohost::testing
