// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/support/http_client.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

namespace cohost::testing {
namespace {

std::string ServiceLine(const std::string& name, const std::string& module = "${echo}",
                        const std::string& more = "") {
  return absl::StrCat("  - {name: ", name, ", runtime: native, module: \"", module,
                      "\", listen: [\"http://127.0.0.1:0\"]", more, "}\n");
}

std::string Ten() {
  std::string text = "grouping: {max_services_per_worker: 1}\nservices:\n";
  for (int i = 0; i < 10; ++i) absl::StrAppend(&text, ServiceLine(absl::StrCat("s", i)));
  return text;
}

std::string BodyOf(const TestHost& host, const std::string& service) {
  auto client = HttpClient::Connect(host.Port(service));
  if (!client.ok()) return std::string(client.status().message());
  const auto answer = client->Get("/");
  return answer.ok() ? answer->body : std::string(answer.status().message());
}

TEST(Reload, RCY_11_ACommentRestartsNothing) {
  const auto host = TestHost::StartOrDie({Ten(), {}, {}});
  const auto before = host->WorkerPids();
  ASSERT_EQ(before.size(), 10u);
  host->WriteDeployment(absl::StrCat("# a comment\n", Ten()));
  const auto response = host->Reload();
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->problems_size(), 0);
  EXPECT_EQ(response->changed_size() + response->added_size() + response->removed_size() +
                response->moved_size(),
            0);
  EXPECT_EQ(host->WorkerPids(), before);
}

TEST(Reload, RCY_11_OnlyAChangedServiceGetsANewWorker) {
  const auto host = TestHost::StartOrDie({Ten(), {}, {}});
  const auto before = host->WorkerPids();
  const std::string slot = absl::StrCat(host->Service("s5")->group(), "/0");
  std::string text = "grouping: {max_services_per_worker: 1}\nservices:\n";
  for (int i = 0; i < 10; ++i) {
    absl::StrAppend(&text, ServiceLine(absl::StrCat("s", i), i == 5 ? "${echo2}" : "${echo}"));
  }
  host->WriteDeployment(text);
  const auto response = host->Reload();
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->changed_size(), 1);
  EXPECT_EQ(response->changed(0), "s5");
  ASSERT_TRUE(Eventually([&] {
    const std::string body = BodyOf(*host, "s5");
    return body.size() > 2 && body.substr(body.size() - 2) == "2\n";
  })) << BodyOf(*host, "s5");
  ASSERT_TRUE(Eventually([&] { return host->WorkerPids().size() == 10u; }));
  for (const auto& [name, pid] : host->WorkerPids()) {
    if (name == slot) {
      EXPECT_NE(pid, before.at(name));
    } else {
      EXPECT_EQ(pid, before.at(name)) << name;
    }
  }
}

TEST(Reload, ABadDeploymentChangesNothing) {
  const auto host = TestHost::StartOrDie({Ten(), {}, {}});
  const auto before = host->WorkerPids();
  const uint64_t revision = host->Status()->revision();
  host->WriteDeployment(Ten() +
                        "  - {name: s3, runtime: native, module: /nowhere.so, lisen: []}\n");
  const auto response = host->Reload();
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_GE(response->problems_size(), 3);
  for (const auto& problem : response->problems()) {
    EXPECT_EQ(problem.file(), host->deployment_file());
    EXPECT_GT(problem.line(), 0u);
  }
  EXPECT_EQ(host->WorkerPids(), before);
  EXPECT_EQ(host->Status()->revision(), revision);
  EXPECT_EQ(host->Services().size(), 10u);
}

TEST(Reload, ARestartedSupervisorGoesOnWithTheLastDeploymentAndNotWithAnEditedFile) {
  const auto host = TestHost::StartOrDie({Ten(), {}, {}});
  const auto before = host->WorkerPids();
  const uint64_t revision = host->Status()->revision();
  host->WriteDeployment("servces: []\n");
  const pid_t supervisor = host->SupervisorPid();
  ASSERT_EQ(kill(supervisor, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    const pid_t next = host->SupervisorPid();
    return next > 0 && next != supervisor;
  })) << host->Log();
  EXPECT_EQ(host->Status()->revision(), revision);
  EXPECT_TRUE(host->WaitUntilReady());
  EXPECT_EQ(host->WorkerPids(), before);
  const auto response = host->Reload();
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_GT(response->problems_size(), 0);
}

TEST(Reload, AddsAndRemovesByASignalToo) {
  const auto host = TestHost::StartOrDie({Ten(), {}, {}});
  const auto before = host->WorkerPids();
  host->WriteDeployment(Ten() + ServiceLine("added"));
  ASSERT_TRUE(host->keeper().Signal(SIGHUP));
  ASSERT_TRUE(Eventually([&] { return host->Service("added").ok(); })) << host->Log();
  ASSERT_TRUE(host->WaitUntilReady());
  EXPECT_NE(BodyOf(*host, "added").find(" 1 "), std::string::npos) << BodyOf(*host, "added");
  for (const auto& [slot, pid] : before) EXPECT_EQ(host->WorkerPids().at(slot), pid) << slot;
  host->WriteDeployment(Ten());
  ASSERT_TRUE(host->Reload().ok());
  EXPECT_FALSE(host->Service("added").ok());
  EXPECT_TRUE(Eventually([&] { return host->WorkerPids() == before; }));
}

TEST(Reload, RCY_11_RemovingAndAddingTheSameServiceTwentyTimesLeavesNothing) {
  const auto host = TestHost::StartOrDie({Ten(), {}, {}});
  const auto descriptors = [&] {
    return std::distance(
        std::filesystem::directory_iterator(absl::StrCat("/proc/", host->SupervisorPid(), "/fd")),
        std::filesystem::directory_iterator());
  };
  std::string nine = "grouping: {max_services_per_worker: 1}\nservices:\n";
  for (int i = 0; i < 10; ++i) {
    if (i != 5) absl::StrAppend(&nine, ServiceLine(absl::StrCat("s", i)));
  }
  const auto cycle = [&] {
    host->WriteDeployment(nine);
    EXPECT_TRUE(host->Reload().ok());
    EXPECT_TRUE(Eventually([&] { return host->Workers().size() == 9u; }));
    host->WriteDeployment(Ten());
    EXPECT_TRUE(host->Reload().ok());
    EXPECT_TRUE(host->WaitUntilReady());
  };
  cycle();
  const auto before = descriptors();
  for (int round = 0; round < 20; ++round) cycle();
  EXPECT_LE(descriptors(), before + 1);
}

}  // namespace
}  // namespace cohost::testing
