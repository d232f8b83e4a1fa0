// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/completion.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/ctl/invocation.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The bash script in a bash, where cohostctl is a function that prints a file.
class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() { std::ofstream(folder_ / "script") << CompletionScript("bash"); }

  // What the host answers to a list: a title and rows.
  void SetList(const std::string& list, const std::string& text) {
    std::ofstream(folder_ / list) << text;
  }
  // What is offered for the last of `words`, one a line.
  std::string Complete(const std::string& words) {
    const std::string command =
        "cd " + folder_.path() +
        "; cohostctl() { echo \"$*\" >> asked; cat \"${@: -1}\" 2>/dev/null; }; source ./script; "
        "COMP_WORDS=(" +
        words +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cohostctl; "
        "(( ${#COMPREPLY[@]} )) && printf '%s\\n' \"${COMPREPLY[@]}\"";
    std::ofstream(folder_ / "command") << command;
    FILE* const pipe = ::popen(("/bin/bash " + (folder_ / "command")).c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::string offered;
    std::array<char, 4096> part;
    for (size_t size; (size = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
      offered.append(part.data(), size);
    }
    ::pclose(pipe);
    return offered;
  }
  bool Exists(const std::string& name) { return ::access((folder_ / name).c_str(), F_OK) == 0; }

  testing::TemporaryFolder folder_;
};

TEST_F(CompletionTest, CommandsComeFirst) {
  EXPECT_EQ(Complete("cohostctl sta"), "status\nstart\n");
  EXPECT_EQ(Complete("cohostctl --timeout 5s serv"), "services\n");
  EXPECT_EQ(Complete("cohostctl completion f"), "fish\n");
}

TEST_F(CompletionTest, ModulesIsFollowedByItsCommandsAndThoseByFiles) {
  EXPECT_EQ(Complete("cohostctl modules s"), "sign\n");
  EXPECT_EQ(Complete("cohostctl modules ''"), "sign\nverify\nnew-key\n");
  SetList("catalog.so", "");
  EXPECT_EQ(Complete("cohostctl modules sign cat"), "catalog.so\n");
  EXPECT_EQ(Complete("cohostctl modules sign --key cat"), "catalog.so\n");
  EXPECT_EQ(Complete("cohostctl modules sign --k"), "--key\n");
}

TEST_F(CompletionTest, ExportAndImportAreFollowedByFiles) {
  SetList("shop.cohost", "");
  EXPECT_EQ(Complete("cohostctl export sho"), "shop.cohost\n");
  EXPECT_EQ(Complete("cohostctl import sho"), "shop.cohost\n");
  EXPECT_EQ(Complete("cohostctl import --modules-to sho"), "shop.cohost\n");
  EXPECT_EQ(Complete("cohostctl export --m"), "--modules\n");
  EXPECT_EQ(Complete("cohostctl import --d"), "--dry-run\n");
}

TEST_F(CompletionTest, NamesAreThoseOfTheTableUpToItsEnd) {
  SetList("services", "NAME     STATE\ncatalog  ready\ncurrency ready\n\ncarts: died\n");
  SetList("groups", "NAME   WORKERS\nfront  2\n");
  SetList("workers", "WORKER   GEN\nfront/0  1\nfront/1  1\n");
  EXPECT_EQ(Complete("cohostctl stop c"), "catalog\ncurrency\n");
  EXPECT_EQ(Complete("cohostctl recycle front"), "front\nfront/0\nfront/1\n");
  EXPECT_EQ(Complete("cohostctl logs cat"), "catalog\n");
  EXPECT_EQ(Complete("cohostctl dump cat"), "catalog\n");
}

TEST_F(CompletionTest, AHostThatIsNotThereCompletesNothing) {
  EXPECT_EQ(Complete("cohostctl stop c"), "");
  EXPECT_TRUE(Exists("asked"));
}

TEST_F(CompletionTest, WhatAHostCallsANameIsNeverRun) {
  SetList("services",
          "NAME  STATE\n$(touch${IFS}hacked)  ready\n`touch${IFS}hacked`  ready\n"
          "a;touch  ready\n$HOME  ready\n*  ready\ncatalog  ready\n");
  EXPECT_EQ(Complete("cohostctl stop ''"), "catalog\n");
  EXPECT_FALSE(Exists("hacked"));
}

TEST_F(CompletionTest, OptionsAreThoseOfTheCommand) {
  EXPECT_EQ(Complete("cohostctl events --f"), "--follow\n");
  EXPECT_EQ(Complete("cohostctl status --f"), "");
  EXPECT_EQ(Complete("cohostctl trace catalog --d"), "--duration\n");
  EXPECT_EQ(Complete("cohostctl dump --kind f"), "full\n");
  EXPECT_EQ(Complete("cohostctl -o ''"), "table\njson\n");
  EXPECT_EQ(Complete("cohostctl events --last ''"), "") << "a number";
}

TEST(CompletionScript, EveryShellKnowsEveryCommand) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = CompletionScript(shell);
    EXPECT_THAT(script, Not(HasSubstr("@COMMANDS@"))) << shell;
    for (const std::string& command : CommandNames()) {
      EXPECT_THAT(script, HasSubstr(command)) << shell;
    }
  }
}

}  // namespace
}  // namespace cohost::supervisor
