// SPDX-License-Identifier: Apache-2.0
//
// Applications under a whole host: published into trees, beside each other, redeployed, and come
// back after what no runtime survives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/http_client.h"
#include "tests/support/http_load.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait.h"
#include "tests/worker/dotnet/applications.h"
#include "tests/worker/dotnet/compared_applications.h"
#include "tests/worker/dotnet/probe.h"

namespace cohost::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kOneGroup[] =
    "grouping: {max_services_per_worker: 64}\ngroups:\n  - {name: all}\nservices:\n";
constexpr char kInIt[] = "group: all, isolation: shared";

class HostedApplications : public DotnetTest {
 protected:
  static absl::StatusOr<HttpAnswer> Ask(uint16_t port, const std::string& request) {
    auto client = HttpClient::Connect(port);
    if (!client.ok()) return client.status();
    const absl::Status sent = client->Send(request);
    if (!sent.ok()) return sent;
    return client->Receive();
  }
  // Its body, or why there was none.
  std::string Get(const std::string& service, const std::string& target) {
    const auto answer =
        Ask(host_->Port(service), absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n"));
    return answer.ok() ? answer->body : std::string(answer.status().message());
  }

  std::unique_ptr<TestHost> host_;
};

TEST_F(HostedApplications, AnswerAsAlone) {
  std::string services;
  for (const Application& application : ComparedApplications()) {
    services += ServiceLine(application, application.name, kInIt);
  }
  host_ = StartDotnetHost(kOneGroup + services);
  ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
  ASSERT_EQ(host_->WorkerPids().size(), 1u);
  Addresses addresses;
  for (const auto& [name, list] : host_->addresses()) {
    for (const std::string& address : list) {
      addresses[name].push_back(address.substr(address.find("//") + 2));
    }
  }
  const auto hosted = ProbeAll(addresses);
  ASSERT_TRUE(hosted.ok()) << hosted.status();
  const auto alone = AskLoneApplications();
  ASSERT_TRUE(alone.ok()) << alone.status();
  for (const Application& application : ComparedApplications()) {
    EXPECT_EQ(hosted->at(application.name), alone->at(application.name)) << application.name;
  }
}

TEST_F(HostedApplications, RunOnceInAGroupOfTwoWorkers) {
  // So that hosted services, timers and queue consumers do.
  host_ = StartDotnetHost(
      absl::StrCat("groups:\n  - {name: all, workers: 2}\nservices:\n",
                   ServiceLine({.name = "HostedServices"}, "service", "group: all")));
  ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
  const auto service = host_->Service("service");
  ASSERT_TRUE(service.ok()) << service.status();
  EXPECT_EQ(service->workers(), 1u);
  EXPECT_EQ(service->ready_workers(), 1u);
}

TEST_F(HostedApplications, SettingsOfTheDeploymentWinOverEnvironmentAndFiles) {
  const Application application{
      .name = "Surroundings",
      .environment = {{"Overridden", "by the environment"}, {"From__The__Environment", "yes"}}};
  host_ = StartDotnetHost(absl::StrCat(
      kOneGroup,
      ServiceLine(application, "both", "group: all, settings: {Overridden: by the deployment}"),
      ServiceLine(application, "environment", "group: all")));
  ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
  EXPECT_THAT(Get("both", "/settings"), HasSubstr("overridden: by the deployment"));
  EXPECT_THAT(Get("both", "/settings"), HasSubstr("from the environment: yes"));
  EXPECT_THAT(Get("environment", "/settings"), HasSubstr("overridden: by the environment"));
}

// One of them and nine neighbours.
class TenApplications : public HostedApplications {
 protected:
  void Start(const std::string& application) {
    std::string services = ServiceLine({.name = application}, "tenth", kInIt);
    for (int i = 1; i < 10; ++i) {
      const std::string name = absl::StrCat("neighbour-", i);
      services += ServiceLine({.name = "Minimal"}, name, kInIt);
      neighbours_.push_back(name);
    }
    host_ = StartDotnetHost(kOneGroup + services);
    ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
    worker_ = host_->WorkerPids().at("all/0");
  }
  // Another worker in the place of the first, with all ten.
  void ExpectAllAreBack() {
    ASSERT_TRUE(Eventually([&] {
      const auto pids = host_->WorkerPids();
      return pids.contains("all/0") && pids.at("all/0") != worker_;
    })) << host_->Log();
    ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
    EXPECT_EQ(Get("tenth", "/"), "well");
    for (const std::string& name : neighbours_) EXPECT_EQ(Get(name, "/text"), "hello") << name;
  }
  void Cause(const std::string& fault) {
    auto client = HttpClient::Connect(host_->Port("tenth"));
    ASSERT_TRUE(client.ok()) << client.status();
    ASSERT_TRUE(client->Send(absl::StrCat("GET ", fault, " HTTP/1.1\r\nHost: a\r\n\r\n")).ok());
  }

  std::vector<std::string> neighbours_;
  pid_t worker_ = 0;
};

TEST_F(TenApplications, ComeBackAfterOneFailedFast) {
  Start("Crashes");
  if (HasFatalFailure()) return;
  Cause("/fail-fast");
  ExpectAllAreBack();
}

TEST_F(TenApplications, ComeBackAfterAStackOverflow) {
  Start("Crashes");
  if (HasFatalFailure()) return;
  Cause("/overflow");
  ExpectAllAreBack();
}

TEST_F(TenApplications, LoseNoRequestWhenOneExitsAndTheWorkerIsReplaced) {
  Start("Exits");
  if (HasFatalFailure()) return;
  HttpLoad::Options options;
  for (const std::string& name : neighbours_) options.ports.push_back(host_->Port(name));
  options.target = "/text";
  options.rate = 200;
  HttpLoad load(options);
  ASSERT_TRUE(Eventually([&] { return load.answered() > 200; }));
  Cause("/exit/3");
  ASSERT_TRUE(Eventually([&] {
    const auto service = host_->Service("tenth");
    return service.ok() && service->reason().find("Environment.Exit") != std::string::npos;
  })) << host_->Log();
  const auto recycled = host_->Recycle("all");
  ASSERT_TRUE(recycled.ok()) << recycled.status();
  ExpectAllAreBack();
  const LoadReport report = load.Stop();
  EXPECT_EQ(report.failures(), 0u) << report.first_failure;
}

TEST_F(HostedApplications, OneThatTheCheckFindsToBeSoloHasAWorkerOfItsOwn) {
  host_ = StartDotnetHost("services:\n" + ServiceLine({.name = "Exits"}, "alone") +
                          ServiceLine({.name = "Minimal"}, "one") +
                          ServiceLine({.name = "Minimal"}, "two"));
  ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
  EXPECT_EQ(Get("alone", "/"), "well");
  EXPECT_EQ(Get("one", "/"), "hello");
  EXPECT_EQ(Get("two", "/"), "hello");
  const std::string group = host_->Service("alone")->group();
  EXPECT_EQ(host_->Service("one")->group(), host_->Service("two")->group());
  EXPECT_NE(host_->Service("one")->group(), group);
  EXPECT_EQ(host_->WorkerPids().size(), 2u);
}

// A service whose folder the test changes.
class Redeployment : public HostedApplications {
 protected:
  void Start(const Application& application) {
    application_ = application;
    folder_ = files_ / application.name;
    LayOut(application.name, folder_);
    host_ = StartDotnetHost(Deployment());
    ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
    worker_ = host_->WorkerPids().at("all/0");
  }
  void Redeploy(const std::string& file, const std::string& text) {
    const std::string path = absl::StrCat(folder_, "/", file);
    std::filesystem::remove(path);
    std::ofstream(path) << text;
    const auto response = host_->Reload();
    ASSERT_TRUE(response.ok()) << response.status();
    ASSERT_EQ(response->problems_size(), 0) << response->problems(0).message();
    ASSERT_TRUE(Eventually([&] {
      const auto pids = host_->WorkerPids();
      return pids.contains("all/0") && pids.at("all/0") != worker_;
    })) << host_->Log();
    ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
  }

 private:
  std::string Deployment() const {
    return kOneGroup + ServiceLine(application_, "service", kInIt, folder_);
  }

  TemporaryFolder files_;
  Application application_;
  std::string folder_;
  pid_t worker_ = 0;
};

TEST_F(Redeployment, BringsTheNewFilesAndLosesNoRequest) {
  Start({.name = "Surroundings"});
  if (HasFatalFailure()) return;
  EXPECT_THAT(Get("service", "/settings"), HasSubstr("from the file: yes"));
  HttpLoad load({{host_->Port("service")}, "/length", 4, /*rate=*/100, true});
  ASSERT_TRUE(Eventually([&] { return load.answered() > 100; }));
  Redeploy("appsettings.json", R"({"FromTheFile": "the new one"})");
  EXPECT_THAT(Get("service", "/settings"), HasSubstr("from the file: the new one"));
  const LoadReport report = load.Stop();
  EXPECT_EQ(report.failures(), 0u) << report.first_failure;
}

TEST_F(Redeployment, KeepsTheDatabase) {
  Start({.name = "EfCore", .persist = {"shop.db"}});
  if (HasFatalFailure()) return;
  const std::string body = R"({"name":"pen","price":2.5})";
  const auto added =
      Ask(host_->Port("service"),
          absl::StrCat("POST /articles HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n",
                       "Content-Length: ", body.size(), "\r\n\r\n", body));
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->status, 201);
  Redeploy("note.txt", "a new revision");
  EXPECT_THAT(Get("service", "/articles"), HasSubstr("pen"));
}

TEST_F(Redeployment, KeepsLogins) {
  Start({.name = "Identity"});
  if (HasFatalFailure()) return;
  const std::string body = R"({"email":"ann@shop.example","password":"Long-enough-1"})";
  std::string cookie;
  for (const char* target : {"/register", "/login?useCookies=true"}) {
    const auto answer = Ask(
        host_->Port("service"),
        absl::StrCat("POST ", target, " HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n",
                     "Content-Length: ", body.size(), "\r\n\r\n", body));
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_EQ(answer->status, 200) << target;
    const size_t at = answer->head.find("Set-Cookie: ");
    if (at == std::string::npos) continue;
    const size_t begin = at + std::string("Set-Cookie: ").size();
    cookie = answer->head.substr(begin, answer->head.find(';', begin) - begin);
  }
  ASSERT_FALSE(cookie.empty());
  const std::string request =
      absl::StrCat("GET /me HTTP/1.1\r\nHost: a\r\nCookie: ", cookie, "\r\n\r\n");
  const auto before = Ask(host_->Port("service"), request);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->body, "ann@shop.example");
  Redeploy("note.txt", "a new revision");
  const auto after = Ask(host_->Port("service"), request);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->body, "ann@shop.example");
}

}  // namespace
}  // namespace cohost::testing
