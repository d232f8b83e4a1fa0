// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/reader/dotnet_reader.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "tests/supervisor/config/config_fixture.h"

namespace cohost::supervisor {
namespace {

class DotnetReaderTest : public ConfigTest {
 protected:
  // Further keys begin on line 7.
  static std::string Orders(std::string_view more) {
    return absl::StrCat(
        "version: 1\nservices:\n- name: orders\n  runtime: dotnet\n  app: App.dll\n"
        "  listen: [\"http://127.0.0.1:8001\"]\n",
        AsAbsl(more));
  }

  Service Load(std::string_view more) {
    const LoadResult result = LoadText(Orders(more));
    EXPECT_TRUE(result.deployment.has_value()) << AllErrors(result);
    return result.deployment.has_value() ? result.deployment->services[0] : Service();
  }
};

TEST_F(DotnetReaderTest, AnApplicationAloneHasTheDefaultsOfItsRuntime) {
  const Service service = Load("");
  EXPECT_EQ(service.runtime, Runtime::kDotnet);
  EXPECT_EQ(service.dotnet.app, folder() + "/App.dll");
  EXPECT_EQ(service.instances, Instances::kOne);
  EXPECT_EQ(service.limits.request_timeout, absl::ZeroDuration());
  EXPECT_FALSE(service.dotnet.isolation.has_value());
  EXPECT_TRUE(service.module.empty());
}

TEST_F(DotnetReaderTest, WhatIsWrittenWins) {
  const Service service =
      Load("  instances: all\n  limits: {request_timeout: 5s}\n  isolation: shared\n");
  EXPECT_EQ(service.instances, Instances::kAll);
  EXPECT_EQ(service.limits.request_timeout, absl::Seconds(5));
  EXPECT_EQ(service.dotnet.isolation, Isolation::kShared);
}

TEST_F(DotnetReaderTest, EnvironmentVariablesAreKeptAsWritten) {
  const Service service =
      Load("  environment: {A: no, ConnectionStrings__Main: \"${file:/etc/x}\", EMPTY: \"\"}\n");
  EXPECT_EQ(service.dotnet.environment,
            (Settings{{"A", "no"}, {"ConnectionStrings__Main", "${file:/etc/x}"}, {"EMPTY", ""}}));
}

TEST_F(DotnetReaderTest, AVariableHasOneValueAndAName) {
  ExpectOnly(LoadText(Orders("  environment: {A: {B: 1}}\n")), 7, 20, "services[0].environment.A",
             "a variable has one value");
  ExpectOnly(LoadText(Orders("  environment: {A=B: 1}\n")), 7, 17, "services[0].environment.A=B",
             "no '='");
  ExpectOnly(LoadText(Orders("  environment: {A: \"${what:x}\"}\n")), 7, 20,
             "services[0].environment.A", "a reference is");
  ExpectOnly(LoadText(Orders("  environment: [A]\n")), 7, 16, "services[0].environment",
             "expected a map");
}

TEST_F(DotnetReaderTest, TheMainAssemblyIsADll) {
  const LoadResult result = LoadText(
      "version: 1\nservices:\n- name: a\n  runtime: dotnet\n  app: m.so\n"
      "  listen: [\"http://127.0.0.1:8001\"]\n");
  ExpectOnly(result, 5, 8, "services[0].app", "the main assembly is a .dll");
}

TEST_F(DotnetReaderTest, PatternsThatCanNeverPersistAreRefused) {
  ExpectOnly(LoadText(Orders("  persist: [\"../x\"]\n")), 7, 12, "services[0].persist", "");
  ExpectOnly(LoadText(Orders("  persist: [\"**\"]\n")), 7, 12, "services[0].persist", "");
  EXPECT_EQ(Load("  persist: [app.db, \"uploads/**\"]\n").dotnet.persist.size(), 2u);
}

TEST_F(DotnetReaderTest, EachRuntimeDemandsItsOwnFile) {
  ExpectOnly(LoadText("version: 1\nservices:\n- name: a\n  runtime: dotnet\n"
                      "  listen: [\"http://127.0.0.1:8001\"]\n"),
             3, 3, "services[0]", "key 'app' is missing");
  ExpectOnly(LoadText("version: 1\nservices:\n- name: a\n"
                      "  listen: [\"http://127.0.0.1:8001\"]\n"),
             3, 3, "services[0]", "key 'module' is missing");
  ExpectOnly(LoadText(Orders("  module: m.so\n")), 7, 3, "services[0].module",
             "only services of the runtime 'native' have it");
}

TEST_F(DotnetReaderTest, NoTimeLimitIsForApplicationsOnly) {
  EXPECT_EQ(Load("  limits: {request_timeout: 0}\n").limits.request_timeout, absl::ZeroDuration());
  ExpectOnly(LoadText(OneService("  limits: {request_timeout: 0}\n")), 6, 29,
             "services[0].limits.request_timeout", "must be at least 1ms");
  ExpectOnly(LoadText(Orders("  limits: {request_timeout: 1us}\n")), 7, 29,
             "services[0].limits.request_timeout", "must be at least 1ms");
}

TEST_F(DotnetReaderTest, AnUnknownRuntimeIsTheOnlyMistake) {
  ExpectOnly(LoadText("version: 1\nservices:\n- name: a\n  runtime: dotne\n  app: App.dll\n"
                      "  listen: [\"http://127.0.0.1:8001\"]\n"),
             4, 12, "services[0].runtime", "did you mean 'dotnet'?");
}

TEST_F(DotnetReaderTest, AHeapLeavesRoomForTheRestOfItsWorker) {
  ExpectOnly(LoadText("version: 1\ngroups:\n- name: a\n  limits: {memory: 512Mi}\n"
                      "  dotnet: {heap_limit: 512Mi}\n"),
             5, 24, "groups[0].dotnet.heap_limit", "not less than limits.memory (512Mi)");
  EXPECT_TRUE(LoadText("version: 1\ngroups:\n- name: a\n  dotnet: {heap_limit: 512Mi}\n")
                  .deployment.has_value());
}

TEST_F(DotnetReaderTest, LibrariesAreSharedAsTheGroupSays) {
  const LoadResult result = LoadText(
      "version: 1\ngroup_defaults: {dotnet: {share_libraries: listed, shared_libraries: [A.*]}}\n"
      "groups:\n- {name: a}\n- {name: b, dotnet: {share_libraries: reviewed}}\n"
      "- {name: c, dotnet: {shared_libraries: [B/1.2]}}\n- {name: d, dotnet: {profile: "
      "density}}\n");
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  const auto policy = [&](size_t group) { return result.deployment->groups[group].policy.dotnet; };
  EXPECT_EQ(policy(0).share_libraries, LibrarySharing::kListed);
  EXPECT_EQ(policy(0).shared_libraries, std::vector<std::string>{"A.*"});
  EXPECT_EQ(policy(1).share_libraries, LibrarySharing::kReviewed);
  EXPECT_TRUE(policy(1).shared_libraries.empty());
  EXPECT_EQ(policy(2).share_libraries, LibrarySharing::kListed);
  EXPECT_EQ(policy(2).shared_libraries, std::vector<std::string>{"B/1.2"});
  EXPECT_EQ(policy(3).share_libraries, LibrarySharing::kNone);
}

TEST_F(DotnetReaderTest, AListGoesWithListedAndNamesLibraries) {
  const auto load = [this](const std::string& keys) {
    return LoadText(absl::StrCat("version: 1\ngroups:\n- name: a\n  dotnet: {", keys, "}\n"));
  };
  ExpectOnly(load("share_libraries: listed"), 4, 11, "groups[0].dotnet.shared_libraries",
             "needs a list");
  ExpectOnly(load("share_libraries: listed, shared_libraries: []"), 4, 55,
             "groups[0].dotnet.shared_libraries", "needs a list");
  ExpectOnly(load("shared_libraries: [A]"), 4, 30, "groups[0].dotnet.shared_libraries",
             "only `share_libraries: listed` has it");
  ExpectOnly(load("share_libraries: listed, shared_libraries: [A, b.dll]"), 4, 59,
             "groups[0].dotnet.shared_libraries[1]", "leave .dll out");
  ExpectOnly(load("share_libraries: some"), 4, 29, "groups[0].dotnet.share_libraries", "");
}

TEST_F(DotnetReaderTest, AProfileReplacesWhatIsInheritedAndKeysComeOnTop) {
  const LoadResult result = LoadText(
      "version: 1\ngroup_defaults: {dotnet: {gen0_size: 8Mi, conserve_memory: 3}}\n"
      "groups:\n- {name: a}\n- {name: b, dotnet: {profile: throughput, gc: workstation}}\n");
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  const DotnetPolicy& a = result.deployment->groups[0].policy.dotnet;
  EXPECT_EQ(a.gen0_size, MiB(8));
  EXPECT_EQ(a.conserve_memory, 3u);
  DotnetPolicy b = DotnetPolicy::Of(DotnetProfile::kThroughput);
  b.gc = GarbageCollector::kWorkstation;
  EXPECT_EQ(result.deployment->groups[1].policy.dotnet, b);
}

TEST_F(DotnetReaderTest, AProfileDoesNotTurnDiagnosticsOnAgain) {
  const LoadResult result = LoadText(
      "version: 1\ngroup_defaults: {dotnet: {diagnostics: false}}\n"
      "groups:\n- {name: a, dotnet: {profile: throughput}}\n"
      "- {name: b, dotnet: {diagnostics: true}}\n");
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  EXPECT_FALSE(result.deployment->groups[0].policy.dotnet.diagnostics);
  EXPECT_TRUE(result.deployment->groups[1].policy.dotnet.diagnostics);
  EXPECT_TRUE(GroupPolicy().dotnet.diagnostics);
}

}  // namespace
}  // namespace cohost::supervisor
