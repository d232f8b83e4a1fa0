// SPDX-License-Identifier: Apache-2.0
//
// Libraries that applications of one worker share: one copy of the code and of its statics, and
// still each application's own data, versions and life.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/support/http_client.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kCore[] = "Microsoft.EntityFrameworkCore";
constexpr char kRelational[] = "Microsoft.EntityFrameworkCore.Relational";
constexpr char kSqlite[] = "Microsoft.Data.Sqlite";
constexpr char kRaw[] = "SQLitePCLRaw.core";
constexpr char kModel[] = "Microsoft.Extensions.DependencyModel";
constexpr char kReviewed[] = "share_libraries: reviewed";

class SharedLibraries : public DotnetTest {
 protected:
  // Services by name, each with its further keys, in one worker of a group with that `dotnet:`.
  void Start(const std::string& dotnet, const std::vector<std::string>& names) {
    dotnet_ = dotnet;
    for (const std::string& name : names) folders_[name] = "";
    host_ = StartDotnetHost(Deployment());
    ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
    ASSERT_EQ(host_->WorkerPids().size(), 1u) << host_->Log();
  }

  // The application with a library of another version, as far as Cohost can tell: a byte behind its
  // end. In a folder of its own.
  std::string Changed(const std::string& library) {
    const std::string folder = files_ / absl::StrCat("changed-", folders_made_++);
    LayOut("EfCore", folder);
    const std::string path = absl::StrCat(folder, "/", library, ".dll");
    std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    std::ofstream(path, std::ios::binary | std::ios::app) << ' ';
    return folder;
  }

  // The service runs from that folder from now on.
  void Redeploy(const std::string& service, const std::string& folder) {
    const pid_t worker = host_->WorkerPids().at("all/0");
    folders_[service] = folder;
    host_->WriteDeployment(Deployment());
    const auto response = host_->Reload();
    ASSERT_TRUE(response.ok()) << response.status();
    ASSERT_EQ(response->problems_size(), 0) << response->problems(0).message();
    ASSERT_TRUE(Eventually([&] {
      const auto pids = host_->WorkerPids();
      return pids.contains("all/0") && pids.at("all/0") != worker;
    })) << host_->Log();
    ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
  }

  std::string Get(const std::string& service, const std::string& target) const {
    return Ask(service, absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n"));
  }
  void AddArticle(const std::string& service, const std::string& name) const {
    const std::string body = absl::StrCat(R"({"name":")", name, R"(","price":2.5})");
    Ask(service, absl::StrCat("POST /articles HTTP/1.1\r\nHost: a\r\n",
                              "Content-Type: application/json\r\nContent-Length: ", body.size(),
                              "\r\n\r\n", body));
  }
  // What the service says of its copy of a library: load context, type, object in a static.
  std::string CopyOf(const std::string& service, const std::string& library) const {
    for (const auto line : absl::StrSplit(Get(service, "/copies"), '\n')) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(line, absl::MaxSplits(' ', 1));
      if (parts.first == library) return parts.second;
    }
    return absl::StrCat("none in ", Get(service, "/copies"));
  }

  std::unique_ptr<TestHost> host_;

 private:
  std::string Deployment() const {
    std::string text =
        absl::StrCat("grouping: {max_services_per_worker: 64}\ngroups:\n  - {name: all, dotnet: {",
                     dotnet_, "}}\nservices:\n");
    const Application application{.name = "EfCore", .persist = {"shop.db"}};
    for (const auto& [name, folder] : folders_) {
      const bool is_own = name.find("own") == 0;
      text +=
          ServiceLine(application, name,
                      absl::StrCat("group: all", is_own ? ", share_libraries: false" : ""), folder);
    }
    return text;
  }
  // The body, or why there is none.
  std::string Ask(const std::string& service, const std::string& request) const {
    auto client = HttpClient::Connect(host_->Port(service));
    if (!client.ok()) return std::string(client.status().message());
    const absl::Status sent = client->Send(request);
    if (!sent.ok()) return std::string(sent.message());
    const auto answer = client->Receive();
    return answer.ok() ? answer->body : std::string(answer.status().message());
  }

  TemporaryFolder files_;
  int folders_made_ = 0;
  std::string dotnet_;
  std::map<std::string, std::string> folders_;
};

TEST_F(SharedLibraries, ReviewedOnesExistOnceAndDataStaysApart) {
  Start(kReviewed, {"first", "second", "own"});
  if (HasFatalFailure()) return;
  for (const char* library : {kCore, kRelational, kSqlite, kRaw}) {
    EXPECT_THAT(CopyOf("first", library), HasSubstr("SharedLibrary")) << host_->Log();
    EXPECT_EQ(CopyOf("first", library), CopyOf("second", library));
    EXPECT_THAT(CopyOf("own", library), HasSubstr("ApplicationLoadContext"));
    EXPECT_NE(CopyOf("own", library), CopyOf("first", library));
  }
  // The provider has its copy inside; an application's is its own.
  EXPECT_THAT(CopyOf("first", kModel), HasSubstr("ApplicationLoadContext"));
  EXPECT_NE(CopyOf("first", kModel), CopyOf("second", kModel));

  // Databases of one name stay apart, in what they pool too: each after the others.
  for (int round = 0; round < 3; ++round) {
    for (const char* service : {"first", "second", "own"}) {
      AddArticle(service, absl::StrCat(service, "-", round));
    }
  }
  for (const std::string service : {"first", "second", "own"}) {
    const std::string articles = Get(service, "/articles");
    for (const std::string other : {"first", "second", "own"}) {
      for (int round = 0; round < 3; ++round) {
        const std::string name = absl::StrCat(other, "-", round);
        if (other == service) {
          EXPECT_THAT(articles, HasSubstr(name)) << service;
        } else {
          EXPECT_THAT(articles, Not(HasSubstr(name))) << service;
        }
      }
    }
  }
}

// Entity Framework Core refuses to make more than twenty of its service providers, which one
// application never needs; here each of the applications has one.
TEST_F(SharedLibraries, AsManyApplicationsAsAWorkerTakesShareEntityFramework) {
  std::vector<std::string> names;
  for (int i = 0; i < 24; ++i) names.push_back(absl::StrCat("service-", i));
  Start(kReviewed, names);
  if (HasFatalFailure()) return;
  for (const std::string& name : names) {
    EXPECT_EQ(CopyOf(name, kCore), CopyOf(names[0], kCore));
    EXPECT_EQ(Get(name, "/articles"), "[]") << name << host_->Log();
  }
}

TEST_F(SharedLibraries, AnotherVersionBelowIsSharedByNobodyElse) {
  Start(kReviewed, {"first", "second", "third"});
  if (HasFatalFailure()) return;
  const std::string changed = Changed("Microsoft.EntityFrameworkCore.Abstractions");
  Redeploy("third", changed);
  if (HasFatalFailure()) return;
  for (const char* library : {kCore, kRelational}) {
    EXPECT_EQ(CopyOf("first", library), CopyOf("second", library));
    EXPECT_NE(CopyOf("first", library), CopyOf("third", library));
    EXPECT_THAT(CopyOf("third", library), HasSubstr("SharedLibrary"));
  }
  AddArticle("third", "pen");
  EXPECT_THAT(Get("third", "/articles"), HasSubstr("pen"));
  // Until a second one comes with it.
  Redeploy("second", changed);
  if (HasFatalFailure()) return;
  EXPECT_NE(CopyOf("first", kCore), CopyOf("second", kCore));
  EXPECT_EQ(CopyOf("second", kCore), CopyOf("third", kCore));
  EXPECT_THAT(Get("third", "/articles"), HasSubstr("pen"));
}

TEST_F(SharedLibraries, AListedOneIsSharedByWhoAnswersForIt) {
  Start("share_libraries: listed, shared_libraries: [Microsoft.Extensions.DependencyModel/10.0]",
        {"first", "second"});
  if (HasFatalFailure()) return;
  EXPECT_THAT(CopyOf("first", kModel), HasSubstr("SharedLibrary"));
  EXPECT_EQ(CopyOf("first", kModel), CopyOf("second", kModel));
}

// Serilog.Log.Logger is one for all who share it.
TEST_F(SharedLibraries, WhatIsListedInVainIsTold) {
  host_ = StartDotnetHost(
      "groups:\n  - {name: all, dotnet: {share_libraries: listed, "
      "shared_libraries: [Serilog, Microsoft.Extensions.DependencyModel]}}\n"
      "services:\n" +
      ServiceLine({.name = "SerilogLog"}, "first", "group: all"));
  ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
  const auto status = host_->Status();
  ASSERT_TRUE(status.ok()) << status.status();
  const std::string remarks = absl::StrJoin(status->remarks(), "\n");
  EXPECT_THAT(remarks, HasSubstr("Serilog.Log.Logger can be set"));
  EXPECT_THAT(remarks, HasSubstr("DependencyContext.Default is what the first application"));
}

}  // namespace
}  // namespace cohost::testing
