// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/dotnet/applications.h"

#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_process.h"

namespace cohost::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kManaged[] = "dotnet/managed/shim";

// A worker as it is installed: the built one lies below a home folder that others may not enter.
// One for the whole test program, removed at its end.
class InstalledWorker {
 public:
  InstalledWorker() {
    chmod(folder_.path().c_str(), 0755);
    fs::copy_file(ProgramPath("worker/cohost-worker"), path());
    const std::string managed = folder_ / kManaged;
    fs::create_directories(managed);
    for (const auto& file :
         fs::directory_iterator(ProgramPath(std::string("worker/") + kManaged))) {
      fs::copy_file(file.path(), fs::path(managed) / file.path().filename());
    }
  }

  std::string path() const { return folder_ / "cohost-worker"; }

 private:
  TemporaryFolder folder_;
};

std::string Quoted(const std::vector<std::string>& texts) {
  return absl::StrCat("[\"", absl::StrJoin(texts, "\", \""), "\"]");
}

}  // namespace

std::string DotnetRoot() { return COHOST_DOTNET_ROOT; }

void DotnetTest::SetUp() {
  if (DotnetRoot().empty()) GTEST_SKIP() << "no .NET SDK on this machine";
}

void PrintTo(const Application& application, std::ostream* out) { *out << application.name; }

std::string ApplicationFolder(const std::string& name) {
  return ProgramPath("tests/worker/dotnet/apps/apps") + "/" + name;
}

void LayOut(const std::string& name, const std::string& folder) {
  fs::copy(ApplicationFolder(name), folder, fs::copy_options::recursive);
}

std::string ServiceLine(const Application& application, const std::string& service,
                        const std::string& more, const std::string& folder) {
  std::string line = absl::StrCat("  - {name: ", service, ", runtime: dotnet, app: \"",
                                  folder.empty() ? ApplicationFolder(application.name) : folder,
                                  "/", application.name, ".dll\", listen: ");
  std::vector<std::string> listen;
  for (const Application::Endpoint& endpoint : application.endpoints) {
    listen.push_back(
        absl::StrCat("{address: \"http://127.0.0.1:0\", endpoint: ", endpoint.name, "}"));
  }
  absl::StrAppend(&line, listen.empty() ? "[\"http://127.0.0.1:0\"]"
                                        : absl::StrCat("[", absl::StrJoin(listen, ", "), "]"));
  if (!application.environment.empty()) {
    absl::StrAppend(&line, ", environment: {\"",
                    absl::StrJoin(application.environment, "\", \"", absl::PairFormatter("\": \"")),
                    "\"}");
  }
  if (!application.arguments.empty()) {
    absl::StrAppend(&line, ", arguments: ", Quoted(application.arguments));
  }
  if (!application.persist.empty()) {
    absl::StrAppend(&line, ", persist: ", Quoted(application.persist));
  }
  return absl::StrCat(line, more.empty() ? "" : ", ", more, "}\n");
}

std::unique_ptr<TestHost> StartDotnetHost(const std::string& deployment,
                                          const std::vector<std::string>& environment,
                                          const std::string& host) {
  static const InstalledWorker installed;
  TestHost::Options options;
  options.deployment = deployment;
  options.environment = environment;
  options.host = host;
  options.worker = installed.path();
  return TestHost::StartOrDie(std::move(options));
}

}  // namespace cohost::testing
