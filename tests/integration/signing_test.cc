// SPDX-License-Identifier: Apache-2.0
//
// Modules of a group that requires signatures: only what a named key has signed reaches a worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/http_client.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_host.h"
#include "tests/support/test_process.h"
#include "tests/support/wait.h"

namespace cohost::testing {
namespace {

using ::testing::HasSubstr;

// A module "m.so" that changes, keys, and a host with one service of it.
class SigningTest : public ::testing::Test {
 protected:
  SigningTest() {
    Build("echo");
    for (const char* key : {"old", "new", "foreign"}) {
      EXPECT_EQ(Modules({"new-key", files_ / key}), 0);
    }
  }

  // `cohostctl modules` with these arguments; its exit status.
  int Modules(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ProgramPath("supervisor/ctl/cohostctl"), "modules"});
    const auto process = TestProcess::Start({.command = std::move(arguments)});
    EXPECT_TRUE(process.ok()) << process.status();
    if (!process.ok()) return -1;
    const auto ended = (*process)->WaitUntilEnded();
    return ended && ended->exit_code ? *ended->exit_code : -1;
  }
  void Sign(const std::string& key) {
    EXPECT_EQ(Modules({"sign", "--key", files_ / (key + ".key"), module()}), 0);
    EXPECT_EQ(Modules({"verify", "--key", files_ / (key + ".pub"), module()}), 0);
  }
  // Gives m.so the content of a module of //tests/services, with the signatures that it has.
  void Build(const std::string& name) {
    std::filesystem::remove(module());
    std::filesystem::copy_file(ProgramPath(absl::StrCat("tests/services/", name, ".so")), module());
  }
  void Unsign() { std::filesystem::remove(module() + ".sig"); }
  std::string module() const { return files_ / "m.so"; }

  std::map<std::string, std::string> Keys(const std::vector<std::string>& names) const {
    std::map<std::string, std::string> keys;
    for (const std::string& name : names) keys[name] = files_ / (name + ".pub");
    return keys;
  }
  // One service, in a group that placement derives.
  std::string Deployment(const std::vector<std::string>& required) const {
    return absl::StrCat("group_defaults: {", geteuid() == 0 ? "identity: {user: nobody}, " : "",
                        "signatures: {required_from: [", absl::StrJoin(required, ", "),
                        "]}}\nservices:\n  - {name: s, runtime: native, module: \"", module(),
                        "\", listen: [\"http://127.0.0.1:0\"]}\n");
  }
  std::unique_ptr<TestHost> Start(const std::vector<std::string>& keys) {
    return TestHost::StartOrDie({.deployment = Deployment(keys),
                                 .arguments = {},
                                 .environment = {},
                                 .signing_keys = Keys(keys)});
  }

  static std::string BuildOf(const TestHost& host) {
    auto client = HttpClient::Connect(host.Port("s"));
    if (!client.ok()) return std::string(client.status().message());
    const auto answer = client->Get("/");
    if (!answer.ok()) return std::string(answer.status().message());
    // "<pid> <generation> <build>\n"
    return answer->body.substr(answer->body.rfind(' ') + 1);
  }
  // A reload that is refused for the module, for this reason, and changes nothing.
  static void ExpectRefused(TestHost& host, const std::string& reason) {
    SCOPED_TRACE(reason);
    const auto workers = host.WorkerPids();
    const uint64_t revision = host.Status()->revision();
    const auto response = host.Reload();
    ASSERT_TRUE(response.ok()) << response.status();
    ASSERT_EQ(response->problems_size(), 1);
    EXPECT_EQ(response->problems(0).key_path(), "services.s.module");
    EXPECT_EQ(response->problems(0).file(), host.deployment_file());
    EXPECT_THAT(response->problems(0).message(), HasSubstr(reason));
    EXPECT_THAT(response->problems(0).message(), HasSubstr("cohostctl modules sign"));
    EXPECT_EQ(host.Events().back().kind(), "deployment_refused");
    EXPECT_EQ(host.Status()->revision(), revision);
    EXPECT_EQ(host.WorkerPids(), workers);
    EXPECT_EQ(BuildOf(host), "1\n");
  }

  const TemporaryFolder files_;
};

TEST_F(SigningTest, NothingStartsWithAModuleThatNobodySigned) {
  Sign("foreign");
  const auto host = TestHost::Start({.deployment = Deployment({"old"}),
                                     .arguments = {},
                                     .environment = {},
                                     .signing_keys = Keys({"old"})});
  ASSERT_FALSE(host.ok());
  EXPECT_TRUE(absl::StrContains(host.status().message(), "requires a signature")) << host.status();
}

TEST_F(SigningTest, UnsignedAlteredAndForeignSignedModulesNeverReachAWorker) {
  Sign("old");
  const auto host = Start({"old"});
  ASSERT_EQ(BuildOf(*host), "1\n");
  Build("echo2");
  ExpectRefused(*host, "changed after it was signed");
  Unsign();
  ExpectRefused(*host, "there is no '" + module() + ".sig'");
  Sign("foreign");
  ExpectRefused(*host, "no signature by a key of host.signing_keys");
  std::ofstream(module() + ".sig", std::ios::app) << "torn";
  ExpectRefused(*host, "cut off");
  Unsign();
  Sign("old");
  const auto response = host->Reload();
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->problems_size(), 0);
  EXPECT_TRUE(Eventually([&] { return BuildOf(*host) == "2\n"; })) << BuildOf(*host);
}

TEST_F(SigningTest, KeysRotateWhileTheHostRuns) {
  Sign("old");
  const auto host = Start({"old"});
  const auto workers = host->WorkerPids();
  const auto reload = [&](const std::vector<std::string>& keys) {
    host->SetSigningKeys(Keys(keys));
    host->WriteDeployment(Deployment(keys));
    const auto response = host->Reload();
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->problems_size() : -1;
  };
  EXPECT_EQ(reload({"new"}), 1) << "signed by the old key only";
  EXPECT_EQ(reload({"new", "old"}), 0);
  Sign("new");
  EXPECT_EQ(reload({"new"}), 0);
  EXPECT_EQ(host->WorkerPids(), workers) << "the same content";
  EXPECT_EQ(reload({"old"}), 0) << "its signature was not lost";
  // The old key is worth nothing once it is dropped.
  EXPECT_EQ(reload({"new"}), 0);
  Build("echo2");
  Unsign();
  Sign("old");
  EXPECT_EQ(reload({"new"}), 1);
  EXPECT_EQ(BuildOf(*host), "1\n");
}

TEST_F(SigningTest, ARestartedSupervisorKnowsSignaturesThatAreGone) {
  Sign("old");
  const auto host = Start({"old"});
  const auto workers = host->WorkerPids();
  Unsign();
  const pid_t supervisor = host->SupervisorPid();
  ASSERT_EQ(kill(supervisor, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    const pid_t next = host->SupervisorPid();
    return next > 0 && next != supervisor;
  })) << host->Log();
  EXPECT_TRUE(host->WaitUntilReady());
  EXPECT_EQ(host->WorkerPids(), workers);
}

TEST_F(SigningTest, AStoredCopyThatWasAlteredIsSignedByNobody) {
  Sign("old");
  const auto host = Start({"old"});
  const auto stored = std::filesystem::directory_iterator(host->folder() / "state/modules");
  for (const auto& entry : stored) {
    if (entry.path().extension() != ".so") continue;
    // Of the same size, under the same name: for the store's index it is the file that it knows.
    // A new file, since the old one is mapped.
    const auto copy = entry.path().string() + ".copy";
    std::filesystem::copy_file(entry.path(), copy);
    std::filesystem::permissions(copy, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    {
      std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-1, std::ios::end);
      file.put('X');
    }
    std::filesystem::permissions(copy, std::filesystem::status(entry.path()).permissions());
    std::filesystem::rename(copy, entry.path());
  }
  ExpectRefused(*host, "is damaged");
}

}  // namespace
}  // namespace cohost::testing
