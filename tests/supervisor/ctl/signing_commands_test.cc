// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/signing_commands.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/modules/signing/signature_text.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class SigningCommandsTest : public ::testing::Test {
 protected:
  SigningCommandsTest() {
    Write("a.so", "a module");
    Write("b.so", "b module");
    EXPECT_EQ(Run({"new-key", Path("release")}), 0) << errors_;
    EXPECT_EQ(Run({"new-key", Path("spare")}), 0) << errors_;
  }

  // `cohostctl modules` with these arguments; the exit status.
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "modules");
    const Parsed parsed = ParseCommandLine(arguments, nullptr);
    EXPECT_TRUE(parsed.invocation) << parsed.text;
    if (!parsed.invocation) return -1;
    std::ostringstream out;
    std::ostringstream errors;
    const int status = RunSigningCommand(*parsed.invocation, out, errors);
    out_ = out.str();
    errors_ = errors.str();
    return status;
  }
  int Sign(const std::string& key, const std::string& file) {
    return Run({"sign", "--key", Path(key + ".key"), Path(file)});
  }
  int Verify(const std::string& key, const std::string& file) {
    return Run({"verify", "--key", Path(key + ".pub"), Path(file)});
  }
  std::string Path(const std::string& name) { return folder_ / name; }
  void Write(const std::string& name, const std::string& content) {
    std::ofstream(Path(name), std::ios::trunc) << content;
  }
  std::string Read(const std::string& name) {
    std::stringstream text;
    text << std::ifstream(Path(name)).rdbuf();
    return text.str();
  }

  testing::TemporaryFolder folder_;
  std::string out_;
  std::string errors_;
};

TEST_F(SigningCommandsTest, WhatWasSignedIsGoodUntilItChanges) {
  EXPECT_EQ(Verify("release", "a.so"), 1);
  EXPECT_THAT(out_, HasSubstr("a.so: not signed"));
  ASSERT_EQ(Sign("release", "a.so"), 0) << errors_;
  EXPECT_EQ(Verify("release", "a.so"), 0);
  EXPECT_EQ(out_, Path("a.so") + ": good\n");
  EXPECT_EQ(errors_, "");
  Write("a.so", "A module");
  EXPECT_EQ(Verify("release", "a.so"), 1);
  EXPECT_THAT(out_, HasSubstr("changed since"));
}

TEST_F(SigningCommandsTest, AnotherKeyAddsItsSignatureAndTheSameReplacesIt) {
  ASSERT_EQ(Sign("release", "a.so"), 0);
  EXPECT_EQ(Verify("spare", "a.so"), 1);
  EXPECT_THAT(out_, HasSubstr("not signed by key"));
  ASSERT_EQ(Sign("spare", "a.so"), 0);
  EXPECT_EQ(Verify("release", "a.so"), 0);
  EXPECT_EQ(Verify("spare", "a.so"), 0);
  const std::string both = Read("a.so.sig");
  ASSERT_EQ(Sign("release", "a.so"), 0);
  EXPECT_EQ(Read("a.so.sig"), both) << "the same key and content are the same signature";
  Write("a.so", "a later build");
  ASSERT_EQ(Sign("spare", "a.so"), 0);
  EXPECT_THAT(ReadSignaturesOf(Path("a.so")).value(), SizeIs(2));
  EXPECT_EQ(Verify("spare", "a.so"), 0);
  EXPECT_EQ(Verify("release", "a.so"), 1);
}

TEST_F(SigningCommandsTest, OneFileDoesNotKeepTheOthersFromTheirTurn) {
  EXPECT_EQ(
      Run({"sign", "--key", Path("release.key"), Path("a.so"), Path("none.so"), Path("b.so")}), 1);
  EXPECT_THAT(errors_, HasSubstr("1 of 3 files were not signed"));
  EXPECT_EQ(Run({"verify", "--key", Path("release.pub"), Path("a.so"), Path("b.so")}), 0);
  EXPECT_EQ(out_, absl::StrCat(Path("a.so"), ": good\n", Path("b.so"), ": good\n"));
}

TEST_F(SigningCommandsTest, ASecretThatOthersMayReadSignsNothing) {
  ASSERT_EQ(chmod(Path("release.key").c_str(), 0644), 0);
  EXPECT_EQ(Sign("release", "a.so"), 1);
  EXPECT_THAT(errors_, HasSubstr("chmod 600 " + Path("release.key")));
  EXPECT_FALSE(std::filesystem::exists(Path("a.so.sig")));
}

TEST_F(SigningCommandsTest, AKeyIsNeverOverwritten) {
  const std::string before = Read("release.key");
  EXPECT_EQ(Run({"new-key", Path("release")}), 1);
  EXPECT_THAT(errors_, HasSubstr("never overwritten"));
  EXPECT_EQ(Read("release.key"), before);
}

TEST_F(SigningCommandsTest, WhatIsNoSignatureFileIsNotOverwritten) {
  Write("a.so.sig", "somebody's notes\n");
  EXPECT_EQ(Sign("release", "a.so"), 1);
  EXPECT_THAT(out_, HasSubstr("remove it"));
  EXPECT_EQ(Read("a.so.sig"), "somebody's notes\n");
  EXPECT_EQ(Verify("release", "a.so"), 1);
}

TEST_F(SigningCommandsTest, TheThirtyThirdSignatureIsRefused) {
  std::vector<Signature> signatures;
  for (int i = 10; i < 42; ++i) {
    signatures.push_back({absl::StrCat(std::string(62, 'a'), i), std::string(64, 'x')});
  }
  Write("a.so.sig", FormatSignatures(signatures));
  EXPECT_EQ(Sign("release", "a.so"), 1);
  EXPECT_EQ(ReadSignaturesOf(Path("a.so")).value(), signatures);
}

TEST_F(SigningCommandsTest, ProgramsGetOneDocument) {
  ASSERT_EQ(Sign("release", "a.so"), 0);
  EXPECT_EQ(Run({"verify", "-o", "json", "--key", Path("release.pub"), Path("a.so"), Path("b.so")}),
            1);
  EXPECT_THAT(out_, StartsWith("{\n"));
  EXPECT_THAT(out_, HasSubstr("\"good\": true"));
  EXPECT_THAT(out_, HasSubstr("\"good\": false"));
  EXPECT_EQ(Run({"new-key", "-o", "json", Path("third")}), 0);
  EXPECT_THAT(out_, HasSubstr("\"public\": \"" + Path("third.pub") + "\""));
}

}  // namespace
}  // namespace cohost::supervisor
