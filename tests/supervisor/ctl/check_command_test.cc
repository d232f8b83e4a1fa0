// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/check_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/supervisor/dotnet/dotnet_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CheckCommandTest : public ::testing::Test {
 protected:
  CheckCommandTest() { ::setenv("DOTNET_ROOT", folder_.root().c_str(), 1); }
  ~CheckCommandTest() override { ::unsetenv("DOTNET_ROOT"); }

  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "check");
    const Parsed parsed = ParseCommandLine(arguments, nullptr);
    EXPECT_TRUE(parsed.invocation) << parsed.text;
    if (!parsed.invocation) return -1;
    std::ostringstream out;
    std::ostringstream errors;
    const int status = RunCheckCommand(*parsed.invocation, Look(), out, errors);
    out_ = out.str();
    errors_ = errors.str();
    return status;
  }

  const DotnetFolder folder_;
  std::string out_;
  std::string errors_;
};

TEST_F(CheckCommandTest, AFolderOrItsMainAssemblyIsChecked) {
  const std::string app = folder_.AddApplication();
  EXPECT_EQ(Run({app}), 0) << errors_;
  EXPECT_EQ(out_, app + ": shared\n");
  EXPECT_EQ(Run({folder_.path("app/")}), 0) << errors_;
  EXPECT_EQ(out_, app + ": shared\n");
}

TEST_F(CheckCommandTest, FindingsHaveTheirReasonAndRemedy) {
  AssemblyBytes bytes;
  bytes.uses = {{"System", "Environment", "Exit"}};
  const std::string app = folder_.AddApplication(bytes);
  EXPECT_EQ(Run({app}), 0);
  EXPECT_THAT(out_, AllOf(HasSubstr(app + ": solo\n"),
                          HasSubstr("  solo: App.dll uses System.Environment.Exit: "),
                          HasSubstr("\n    end the host instead")));
  EXPECT_EQ(Run({app, "-o", "json"}), 0);
  EXPECT_THAT(out_, AllOf(HasSubstr("\"verdict\": \"solo\""), HasSubstr("\"remedy\"")));
}

TEST_F(CheckCommandTest, WhatRunsNowhereHereIsAFailure) {
  EXPECT_EQ(Run({folder_.AddApplication({}, "10.0.99")}), 1);
  EXPECT_THAT(out_, AllOf(HasSubstr(": refused\n"), HasSubstr("aspnetcore-runtime-10.0")));
}

TEST_F(CheckCommandTest, EachLibraryHasItsStandingAndReason) {
  const auto write = [this](const std::string& name, const std::string& reference) {
    AssemblyBytes bytes;
    bytes.name.name = name;
    bytes.references = {{reference, {}}};
    folder_.Write("app/" + name + ".dll", bytes.Build());
  };
  write("Clean", "Json");
  write("Npgsql", "Json");
  write("Over", "Npgsql");
  const std::string app = folder_.AddApplication(
      {}, "10.0.0",
      R"({"App.dll": {}, "Clean.dll": {}, "Npgsql.dll": {}, "Over.dll": {}, "Json.dll": {}})");
  EXPECT_EQ(Run({app}), 0) << errors_;
  EXPECT_THAT(out_, AllOf(HasSubstr("\n    can be listed: Clean 1.0.0\n"),
                          HasSubstr("\n    own: Npgsql 1.0.0: it pools connections"),
                          HasSubstr("\n    own: Over 1.0.0: it references Npgsql, which is not")));
  EXPECT_EQ(Run({app, "-o", "json"}), 0);
  EXPECT_THAT(out_,
              AllOf(HasSubstr("\"sharing\": \"can be listed\""), HasSubstr("\"name\": \"Clean\"")));
}

TEST_F(CheckCommandTest, WhatIsNoApplicationIsSaid) {
  EXPECT_EQ(Run({folder_.path("nothing")}), 1);
  EXPECT_THAT(errors_, HasSubstr("there is no file"));
  EXPECT_EQ(Run({folder_.root()}), 1);
  EXPECT_THAT(errors_, HasSubstr("is no published application"));
  folder_.Write("app/App", "ELF");
  EXPECT_EQ(Run({folder_.path("app/App")}), 1);
  EXPECT_THAT(errors_, HasSubstr("is no .dll"));
}

TEST_F(CheckCommandTest, WithoutTheFrameworkItSaysWhatToInstall) {
  const std::string app = folder_.AddApplication();
  std::filesystem::remove_all(folder_.root() + "/shared");
  EXPECT_EQ(Run({app}), 1);
  EXPECT_THAT(errors_, HasSubstr("aspnetcore-runtime-10.0"));
}

}  // namespace
}  // namespace cohost::supervisor
