// SPDX-License-Identifier: Apache-2.0
//
// What happens to modules on the disk while a host runs them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/system/unique_fd.h"
#include "tests/support/admin_calls.h"
#include "tests/support/http_client.h"
#include "tests/support/opened_files.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

namespace cohost::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ModulePath(const std::string& name) {
  return std::filesystem::absolute(absl::StrCat("tests/services/", name, ".so"));
}

std::string BodyOf(const TestHost& host, const std::string& service) {
  auto client = HttpClient::Connect(host.Port(service));
  if (!client.ok()) return std::string(client.status().message());
  const auto answer = client->Get("/");
  return answer.ok() ? answer->body : std::string(answer.status().message());
}

// Two services in one worker: "target" with a module file of the test's own, and "neighbour".
class StoredModules : public ::testing::Test {
 protected:
  StoredModules() {
    std::filesystem::copy_file(ModulePath("echo"), module_);
    std::filesystem::permissions(module_, std::filesystem::perms::owner_all);
  }
  void Begin() {
    host_ = TestHost::StartOrDie({absl::StrCat("groups: [{name: shop, workers: 2}]\nservices:\n",
                                               "  - {name: target, group: shop, module: ", module_,
                                               ", listen: [\"http://127.0.0.1:0\"]}\n",
                                               "  - {name: neighbour, group: shop, module: \"",
                                               "${echo}\", listen: [\"http://127.0.0.1:0\"]}\n"),
                                  {},
                                  {}});
    workers_ = host_->WorkerPids();
    ASSERT_EQ(workers_.size(), 2u);
  }
  // The same processes, and both services answer.
  void ExpectUnaffected() {
    EXPECT_EQ(host_->WorkerPids(), workers_);
    EXPECT_THAT(BodyOf(*host_, "target"), EndsWith(" 1\n"));
    EXPECT_THAT(BodyOf(*host_, "neighbour"), EndsWith(" 1\n"));
  }

  const TemporaryFolder folder_;
  const std::string module_ = folder_ / "target.so";
  std::unique_ptr<TestHost> host_;
  std::map<std::string, pid_t> workers_;
};

TEST_F(StoredModules, MOD_01_OverwritingOrCuttingADeployedFileChangesNothing) {
  Begin();
  {
    // In place: the same inode gets other content, then none.
    const UniqueFd fd(::open(module_.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(fd.valid());
    const std::string noise(64 << 10, 'x');
    ASSERT_EQ(::pwrite(fd.get(), noise.data(), noise.size(), 0),
              static_cast<ssize_t>(noise.size()));
    ExpectUnaffected();
    ASSERT_EQ(::ftruncate(fd.get(), 0), 0);
    ExpectUnaffected();
  }
  // Neither does it hurt those that start now, or the next supervisor.
  ASSERT_TRUE(host_->Recycle("shop").ok());
  workers_ = host_->WorkerPids();
  ExpectUnaffected();
  const pid_t supervisor = host_->SupervisorPid();
  ASSERT_EQ(::kill(supervisor, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    const pid_t next = host_->SupervisorPid();
    return next > 0 && next != supervisor;
  }));
  ASSERT_TRUE(host_->WaitUntilReady());
  ExpectUnaffected();
  std::filesystem::remove(module_);
  ExpectUnaffected();
}

TEST_F(StoredModules, MOD_07_AModuleThatEndsItsWorkerWhileLoadingIsNotDeployed) {
  Begin();
  const auto response = Deploy(*host_, "target", ModulePath("constructor_exits"));
  EXPECT_EQ(response.status().code(), absl::StatusCode::kFailedPrecondition) << response.status();
  ASSERT_TRUE(host_->WaitUntilReady());
  ExpectUnaffected();
}

TEST_F(StoredModules, AWorkerOpensModulesInTheStoreOnly) {
  auto opened = OpenedFiles::Watch({folder_.path(), std::filesystem::absolute("tests/services")});
  if (!opened.ok()) GTEST_SKIP() << opened.status();
  Begin();
  const auto deployed = Deploy(*host_, "target", ModulePath("echo2"), /*wait=*/true);
  ASSERT_TRUE(deployed.ok()) << deployed.status();
  std::set<pid_t> workers;
  for (const auto& [slot, pid] : workers_) workers.insert(pid);
  for (const auto& [slot, pid] : host_->WorkerPids()) workers.insert(pid);
  EXPECT_EQ(workers.size(), 4u);
  const std::string store = host_->folder() / "state/modules/";
  size_t modules = 0;
  for (const auto& [pid, paths] : (*opened)->Stop()) {
    if (!workers.contains(pid)) continue;
    for (const std::string& path : paths) {
      if (absl::StartsWith(path, store)) {
        ++modules;
        continue;
      }
      EXPECT_FALSE(absl::StartsWith(path, folder_.path())) << path;
      EXPECT_THAT(path, Not(HasSubstr("tests/services"))) << path;
    }
  }
  // Each of the four has loaded something, or the kernel told nothing.
  EXPECT_GE(modules, 4u);
}

TEST_F(StoredModules, STA_04_FiftyDeploysLeaveNothingBehind) {
  Begin();
  const auto count = [&] {
    size_t files = 0;
    for (const char* name : {"state", "run"}) {
      for (const auto& entry :
           std::filesystem::recursive_directory_iterator(host_->folder() / name)) {
        files += entry.is_regular_file() || entry.is_socket() ? 1 : 0;
      }
    }
    return files;
  };
  // Both modules are in the store from the second on.
  for (const char* build : {"echo2", "echo"}) {
    ASSERT_TRUE(Deploy(*host_, "target", ModulePath(build)).ok());
  }
  const size_t before = count();
  for (int round = 0; round < 25; ++round) {
    for (const char* build : {"echo2", "echo"}) {
      const auto response = Deploy(*host_, "target", ModulePath(build));
      ASSERT_TRUE(response.ok()) << response.status();
      ASSERT_TRUE(response->changed());
    }
  }
  ASSERT_TRUE(host_->WaitUntilReady());
  EXPECT_LE(count(), before + 2);
}

}  // namespace
}  // namespace cohost::testing
