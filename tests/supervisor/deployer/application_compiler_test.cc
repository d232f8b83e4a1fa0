// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/application_compiler.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/system/file.h"
#include "supervisor/deployer/prepared_deployment.h"
#include "supervisor/modules/verify/assembly_file.h"
#include "tests/fakes/process_runner.h"
#include "tests/supervisor/dotnet/dotnet_folder.h"

namespace cohost::supervisor {
namespace {

namespace fs = std::filesystem;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Image(const std::string& name) {
  AssemblyBytes bytes = AssemblyBytes::ReadyToRun();
  bytes.name.name = name;
  return bytes.Build();
}

// An application that is published with a compiler of the test's, without any .NET.
class ApplicationCompilerTest : public ::testing::Test {
 protected:
  ApplicationCompilerTest() {
    folder_.Write("crossgen/crossgen2", "a program");
    host_.state_dir = folder_.path("state");
    host_.dotnet_root = folder_.root();
    host_.crossgen = folder_.path("crossgen");
    service_.name = "orders";
    service_.runtime = Runtime::kDotnet;
    service_.instances = Instances::kOne;
    service_.listen.resize(1);
    service_.dotnet.app = folder_.AddApplication(App());
  }

  static AssemblyBytes App() {
    AssemblyBytes bytes;
    bytes.name.name = "App";
    return bytes;
  }
  absl::StatusOr<RunResult> Compile(const RunRequest& request) {
    if (!answer_.ok() || answer_->exit_code != 0) return answer_;
    const fs::path input = request.arguments[0];
    std::ofstream(request.arguments[1].substr(std::string("--out:").size())) << Image(input.stem());
    return answer_;
  }
  Preparation Prepare(PrecompileMode mode = PrecompileMode::kCompile) {
    Deployment deployment;
    deployment.host = host_;
    deployment.services = {service_};
    return PrepareDeployment(deployment, *store_, /*as_root=*/false, {}, {&compiler_, mode});
  }
  // The service of a preparation that went well.
  PreparedService Publish(PrecompileMode mode = PrecompileMode::kCompile) {
    Preparation preparation = Prepare(mode);
    EXPECT_THAT(preparation.problems, IsEmpty());
    if (preparation.prepared == nullptr) return {};
    remarks_ = preparation.prepared->remarks;
    return preparation.prepared->services.at("orders");
  }
  static bool HasMachineCode(const PreparedService& service) {
    const auto fd = OpenFile(service.module.path, O_RDONLY);
    if (!fd.ok()) return false;
    const auto assembly = ReadAssembly(fd->get());
    EXPECT_TRUE(assembly.ok()) << assembly.status();
    return assembly.ok() && assembly->is_ready_to_run;
  }

  const DotnetFolder folder_;
  Host host_;
  Service service_;
  std::vector<std::string> notices_;
  std::vector<std::string> remarks_;
  std::unique_ptr<ModuleStore> store_ =
      ModuleStore::Open({.folder = folder_.path("state/modules")}, &notices_).value();
  absl::StatusOr<RunResult> answer_ = RunResult{.exit_code = 0};
  FakeProcessRunner runner_{[this](const RunRequest& request) { return Compile(request); }};
  ApplicationCompiler compiler_{*store_, runner_};
};

TEST_F(ApplicationCompilerTest, AnApplicationOfIlRunsWithMachineCode) {
  const PreparedService service = Publish();
  EXPECT_TRUE(HasMachineCode(service));
  const TreeEntry* app = service.tree->Find("App.dll");
  ASSERT_NE(app, nullptr);
  EXPECT_NE(app->stored_hash, app->source_hash);
  EXPECT_THAT(remarks_, ElementsAre(HasSubstr("service 'orders': 1 of 1 assemblies have machine "
                                              "code: 0 came with it, 1 were compiled now")));
  // Against the frameworks that it gets, the core first.
  const std::vector<std::string> arguments = runner_.requests().at(0).arguments;
  EXPECT_THAT(arguments, Contains("--reference:" + folder_.root() +
                                  "/shared/Microsoft.NETCore.App/10.0.12/*.dll"));
  EXPECT_THAT(arguments, Contains("--reference:" + folder_.root() +
                                  "/shared/Microsoft.AspNetCore.App/10.0.12/*.dll"));
}

TEST_F(ApplicationCompilerTest, TheSameIsTheSameVersionAndCompiledOnce) {
  const PreparedService first = Publish();
  const PreparedService second = Publish();
  EXPECT_EQ(second.module.hash, first.module.hash);
  EXPECT_EQ(second.revision, first.revision);
  EXPECT_THAT(runner_.requests(), SizeIs(1));
  EXPECT_THAT(remarks_, IsEmpty());
}

TEST_F(ApplicationCompilerTest, AStartRunsNoCompilerAndTakesWhatWasMade) {
  const PreparedService il = Publish(PrecompileMode::kKnownOnly);
  EXPECT_FALSE(HasMachineCode(il));
  EXPECT_THAT(remarks_, ElementsAre(HasSubstr("a reload or `cohostctl deploy` compiles")));
  EXPECT_THAT(runner_.requests(), IsEmpty());
  const PreparedService compiled = Publish();
  const PreparedService again = Publish(PrecompileMode::kKnownOnly);
  EXPECT_TRUE(HasMachineCode(again));
  EXPECT_EQ(again.revision, compiled.revision);
  EXPECT_THAT(remarks_, IsEmpty());
}

TEST_F(ApplicationCompilerTest, WhatCannotBeCompiledStaysIlAndIsNamed) {
  answer_ = RunResult{.exit_code = 1, .output = "it makes no sense"};
  const PreparedService service = Publish();
  EXPECT_FALSE(HasMachineCode(service));
  EXPECT_THAT(remarks_, Contains(HasSubstr("'App.dll' is not precompiled: exit code 1: it makes")));
  EXPECT_THAT(remarks_, Contains(HasSubstr("0 of 1 assemblies have machine code")));
}

TEST_F(ApplicationCompilerTest, WithoutACompilerItRunsAndThatIsSaidOnceForAll) {
  host_.crossgen = folder_.path("nothing/here");
  Deployment deployment;
  deployment.host = host_;
  deployment.services = {service_, service_};
  deployment.services[1].name = "returns";
  const Preparation preparation =
      PrepareDeployment(deployment, *store_, false, {}, {&compiler_, PrecompileMode::kCompile});
  ASSERT_NE(preparation.prepared, nullptr);
  EXPECT_THAT(preparation.prepared->remarks,
              ElementsAre(HasSubstr("no crossgen2 for .NET 10.0.12")));
  EXPECT_THAT(runner_.requests(), IsEmpty());
}

TEST_F(ApplicationCompilerTest, ForWhatCameWithMachineCodeNoCompilerIsLookedFor) {
  AssemblyBytes ready = AssemblyBytes::ReadyToRun();
  ready.name.name = "App";
  service_.dotnet.app = folder_.AddApplication(ready);
  host_.crossgen = folder_.path("nothing/here");
  EXPECT_TRUE(HasMachineCode(Publish()));
  EXPECT_THAT(remarks_, IsEmpty());
}

TEST_F(ApplicationCompilerTest, SwitchedOffNothingIsLookedFor) {
  host_.precompilation = Precompilation::kOff;
  EXPECT_FALSE(HasMachineCode(Publish()));
  EXPECT_THAT(remarks_, IsEmpty());
  EXPECT_THAT(runner_.requests(), IsEmpty());
}

TEST_F(ApplicationCompilerTest, OnlyWhatIsAllowedToIsRestored) {
  ::setenv("NUGET_PACKAGES", folder_.path("packages").c_str(), 1);
  folder_.Write("dotnet/dotnet", "a program");
  host_.crossgen.clear();
  host_.precompilation = Precompilation::kPresent;
  Publish();
  EXPECT_THAT(runner_.requests(), IsEmpty());
  EXPECT_THAT(remarks_, ElementsAre(HasSubstr("host.dotnet.precompile")));
  host_.precompilation = Precompilation::kRestore;
  answer_ = RunResult{.exit_code = 1, .output = "no network"};
  Publish();
  ::unsetenv("NUGET_PACKAGES");
  ASSERT_THAT(runner_.requests(), SizeIs(1));
  EXPECT_EQ(runner_.requests()[0].program, folder_.root() + "/dotnet");
  EXPECT_THAT(remarks_, ElementsAre(HasSubstr("no network")));
}

TEST_F(ApplicationCompilerTest, AnEndingSupervisorPublishesNothing) {
  answer_ = absl::CancelledError("the supervisor ends");
  const Preparation preparation = Prepare();
  EXPECT_EQ(preparation.prepared, nullptr);
  ASSERT_THAT(preparation.problems, SizeIs(1));
  EXPECT_THAT(preparation.problems[0].message, HasSubstr("the supervisor ends"));
}

TEST_F(ApplicationCompilerTest, AnotherFrameworkIsCompiledFor) {
  folder_.AddVersion("11.0.1");
  service_.dotnet.app = folder_.AddApplication(App(), "11.0.0");
  Publish();
  EXPECT_THAT(
      runner_.requests().at(0).arguments,
      Contains("--reference:" + folder_.root() + "/shared/Microsoft.NETCore.App/11.0.1/*.dll"));
}

}  // namespace
}  // namespace cohost::supervisor
