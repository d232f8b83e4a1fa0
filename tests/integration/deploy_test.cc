// SPDX-License-Identifier: Apache-2.0
//
// Deploy, history and rollback on a whole host, with traffic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/admin_calls.h"
#include "tests/support/http_client.h"
#include "tests/support/http_load.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

namespace cohost::testing {
namespace {

using ::testing::ElementsAre;

constexpr char kDeployment[] =
    "groups: [{name: shop, workers: 2}]\n"
    "services:\n"
    "  - {name: a, group: shop, module: \"${echo}\", listen: [\"http://127.0.0.1:0\"]}\n"
    "  - {name: b, group: shop, module: \"${echo}\", listen: [\"http://127.0.0.1:0\"]}\n";

std::string ModulePath(const std::string& name) {
  return std::filesystem::absolute(absl::StrCat("tests/services/", name, ".so"));
}

std::string BodyOf(const TestHost& host, const std::string& service) {
  auto client = HttpClient::Connect(host.Port(service));
  if (!client.ok()) return std::string(client.status().message());
  const auto answer = client->Get("/");
  return answer.ok() ? answer->body : std::string(answer.status().message());
}

// Soon: what is replaced may accept until it has heard that it drains.
bool SoonAnswers(const TestHost& host, const std::string& service, const std::string& end) {
  return Eventually([&] { return BodyOf(host, service).ends_with(end); });
}

TEST(Deploy, ServesTheNewVersionEverywhereAndLosesNoRequest) {
  const auto host = TestHost::StartOrDie({kDeployment, {}, {}});
  HttpLoad load({.ports = {host->Port("a"), host->Port("b")}});
  ASSERT_TRUE(Eventually([&] { return load.answered() > 100; }));
  const auto deployed = Deploy(*host, "a", ModulePath("echo2"), /*wait=*/true);
  ASSERT_TRUE(deployed.ok()) << deployed.status();
  EXPECT_THAT(deployed->serving(), ElementsAre("shop/0", "shop/1"));
  EXPECT_TRUE(SoonAnswers(*host, "a", "2\n"));
  const auto back = Rollback(*host, "a", 0, /*wait=*/true);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->restored_revision(), 1u);
  EXPECT_TRUE(SoonAnswers(*host, "a", "1\n"));
  const LoadReport report = load.Stop();
  EXPECT_EQ(report.failures(), 0u) << report.first_failure;
}

TEST(Deploy, HistoryAndRollbackSurviveTheEndOfTheSupervisor) {
  const auto host = TestHost::StartOrDie({kDeployment, {}, {}});
  ASSERT_TRUE(Deploy(*host, "a", ModulePath("echo2"), /*wait=*/true).ok());
  const pid_t supervisor = host->SupervisorPid();
  ASSERT_EQ(kill(supervisor, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    const pid_t next = host->SupervisorPid();
    return next > 0 && next != supervisor;
  }));
  ASSERT_TRUE(host->WaitUntilReady());
  EXPECT_TRUE(SoonAnswers(*host, "a", "2\n"));
  const auto history = History(*host, "a");
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->revisions_size(), 2);
  EXPECT_EQ(history->revisions(0).action(), "deploy");
  EXPECT_EQ(history->held_since(), 2u);
  ASSERT_TRUE(Rollback(*host, "a", 0, /*wait=*/true).ok());
  EXPECT_TRUE(SoonAnswers(*host, "a", "1\n"));
}

TEST(Deploy, TheWholeDeploymentGoesBack) {
  const auto host = TestHost::StartOrDie({kDeployment, {}, {}});
  host->WriteDeployment(
      "groups: [{name: shop, workers: 2}]\n"
      "services:\n"
      "  - {name: a, group: shop, module: \"${echo2}\", listen: [\"http://127.0.0.1:0\"]}\n");
  ASSERT_TRUE(host->Reload().ok());
  ASSERT_TRUE(host->WaitUntilReady());
  const auto back = Rollback(*host, "", 1);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_TRUE(host->WaitUntilReady());
  EXPECT_EQ(host->Services().size(), 2u);
  EXPECT_TRUE(Eventually([&] { return BodyOf(*host, "a").ends_with("1\n"); }));
  const auto history = History(*host);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->revisions(0).action(), "rollback");
}

TEST(Deploy, FsckFindsTheStoreWhole) {
  const auto host = TestHost::StartOrDie({kDeployment, {}, {}});
  ASSERT_TRUE(Deploy(*host, "a", ModulePath("echo2")).ok());
  const auto checked = MaintainModules(*host, /*check=*/true, /*collect=*/true);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->files(), 2u);
  EXPECT_EQ(checked->damaged_size(), 0);
  EXPECT_EQ(checked->foreign_size(), 0);
  EXPECT_EQ(checked->removed(), 0u);
}

}  // namespace
}  // namespace cohost::testing
