// SPDX-License-Identifier: Apache-2.0
//
// Export and import with two real hosts and the real cohostctl.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/system/file.h"
#include "tests/support/admin_calls.h"
#include "tests/support/http_client.h"
#include "tests/support/test_host.h"
#include "tests/support/test_process.h"
#include "tests/support/wait.h"

namespace cohost::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSecret[] = "correct-horse-battery";
constexpr char kOtherSecret[] = "staple";

// Says its secret in every answer.
constexpr char kShop[] =
    "groups: [{name: shop, workers: 2}]\n"
    "services:\n"
    "  - {name: catalog, group: shop, module: \"${echo}\", listen: [\"http://127.0.0.1:0\"],\n"
    "     settings: {build: \"${env:SHOP_SECRET}\", other: \"${file:/proc/self/cmdline}\"}}\n"
    "  - {name: orders, module: \"${echo2}\", listen: [\"http://127.0.0.1:0\"]}\n";
constexpr char kOther[] =
    "services:\n"
    "  - {name: old, module: \"${slow}\", listen: [\"http://127.0.0.1:0\"]}\n";

std::string Content(const std::string& path) {
  return ReadRegularFile(path, MiB(64)).value_or("unreadable");
}

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string errors;
};

// cohostctl for this host; `input`: its standard input, else nobody is there.
Outcome Ctl(const TestHost& host, std::vector<std::string> arguments, int input = -1) {
  TemporaryFolder folder;
  arguments.insert(arguments.begin(),
                   {ProgramPath("supervisor/ctl/cohostctl"), "--socket", host.admin_socket()});
  const UniqueFd out = *OpenFile(folder / "out", O_RDWR | O_CREAT, 0600);
  const UniqueFd errors = *OpenFile(folder / "errors", O_RDWR | O_CREAT, 0600);
  TestProcess::Options options;
  options.command = std::move(arguments);
  options.descriptors = {{1, out.get()}, {2, errors.get()}};
  if (input >= 0) options.descriptors.emplace_back(0, input);
  auto process = TestProcess::Start(options);
  EXPECT_TRUE(process.ok()) << process.status();
  Outcome outcome;
  if (!process.ok()) return outcome;
  const auto ended = (*process)->WaitUntilEnded();
  EXPECT_TRUE(ended && ended->exit_code);
  if (ended && ended->exit_code) outcome.exit_code = *ended->exit_code;
  outcome.out = Content(folder / "out");
  outcome.errors = Content(folder / "errors");
  return outcome;
}

std::string BodyOf(const TestHost& host, const std::string& service) {
  auto client = HttpClient::Connect(host.Port(service));
  if (!client.ok()) return std::string(client.status().message());
  const auto answer = client->Get("/");
  return answer.ok() ? answer->body : std::string(answer.status().message());
}

// Every file below the folder of the deployment file, but for what a running host writes.
std::map<std::string, std::string> FilesOf(TestHost& host) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(host.folder().path())) {
    const std::string name = entry.path().filename();
    if (name == "run" || name == "state" || name == "log") continue;
    files[name] = entry.is_regular_file() ? Content(entry.path()) : "a folder";
  }
  return files;
}

class Exchange : public ::testing::Test {
 protected:
  Exchange() {
    one_ = TestHost::StartOrDie({kShop, {}, {absl::StrCat("SHOP_SECRET=", kSecret)}});
    two_ = TestHost::StartOrDie({kOther, {}, {absl::StrCat("SHOP_SECRET=", kOtherSecret)}});
  }
  Outcome Export(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"export", archive_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Ctl(*one_, arguments);
  }
  // Runs an import that must change nothing.
  Outcome Refused(const std::vector<std::string>& arguments, int input = -1) {
    const auto files = FilesOf(*two_);
    const uint64_t revision = two_->Status()->revision();
    const auto workers = two_->WorkerPids();
    const Outcome outcome = Ctl(*two_, arguments, input);
    EXPECT_EQ(FilesOf(*two_), files);
    EXPECT_EQ(two_->Status()->revision(), revision);
    EXPECT_EQ(two_->WorkerPids(), workers);
    return outcome;
  }

  TemporaryFolder folder_;
  const std::string archive_ = folder_ / "shop.cohost";
  std::unique_ptr<TestHost> one_;
  std::unique_ptr<TestHost> two_;
};

TEST_F(Exchange, AHostWithoutTheModulesServesTheSameAfterAnImport) {
  ASSERT_EQ(Export({"--modules"}).exit_code, 0);
  const std::string before = Content(two_->deployment_file());
  const Outcome imported = Ctl(*two_, {"import", archive_, "--yes"});
  ASSERT_EQ(imported.exit_code, 0) << imported.out << imported.errors;
  EXPECT_THAT(imported.out, HasSubstr("+ catalog  module "));
  EXPECT_THAT(imported.out, HasSubstr("- old\n"));
  EXPECT_THAT(imported.out, HasSubstr("+ group shop\n"));
  ASSERT_TRUE(two_->WaitUntilReady());
  EXPECT_EQ(two_->Services().size(), 2u);
  // With this host's secret, not with the other one's.
  EXPECT_THAT(BodyOf(*two_, "catalog"), EndsWith(absl::StrCat(" ", kOtherSecret, "\n")));
  EXPECT_THAT(BodyOf(*two_, "orders"), EndsWith(" 2\n"));
  EXPECT_EQ(two_->Service("orders")->module_hash(), one_->Service("orders")->module_hash());
  const auto history = History(*two_);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->revisions(0).action(), "import");
  // The files are this host's own now, and the old deployment file is beside the new one.
  size_t kept = 0;
  for (const auto& [name, content] : FilesOf(*two_)) {
    if (name.starts_with("cohost.yaml.before-import-")) kept += content == before ? 1 : 0;
  }
  EXPECT_EQ(kept, 1u);
  EXPECT_THAT(Content(two_->deployment_file()),
              HasSubstr(absl::StrCat("imported/", one_->Service("catalog")->module_hash(), ".so")));
  EXPECT_THAT(Content(two_->deployment_file()), HasSubstr(two_->folder() / "state"));
  // It is a file like any other.
  EXPECT_TRUE(two_->Reload()->problems().empty());
}

TEST_F(Exchange, AnImportOfWhatIsInForceChangesNothing) {
  ASSERT_EQ(Export({"--modules"}).exit_code, 0);
  ASSERT_EQ(Ctl(*two_, {"import", archive_, "--yes"}).exit_code, 0);
  ASSERT_TRUE(two_->WaitUntilReady());
  const Outcome again = Refused({"import", archive_, "--yes"});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_THAT(again.out, HasSubstr("nothing differs"));
}

TEST_F(Exchange, SecretsAreNotInTheArchive) {
  ASSERT_EQ(Export({}).exit_code, 0);
  const std::string bytes = Content(archive_);
  EXPECT_THAT(bytes, HasSubstr("${env:SHOP_SECRET}"));
  EXPECT_THAT(bytes, HasSubstr("${file:/proc/self/cmdline}"));
  EXPECT_THAT(bytes, Not(HasSubstr(kSecret)));
  EXPECT_THAT(bytes, Not(HasSubstr("cohost-supervisor\n")));
  // Nor is the archive for everybody.
  EXPECT_EQ(std::filesystem::status(archive_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(Exchange, AMissingModuleIsNamedAndNothingHappens) {
  ASSERT_EQ(Export({}).exit_code, 0);
  const Outcome refused = Refused({"import", archive_, "--yes"});
  EXPECT_EQ(refused.exit_code, 1);
  for (const char* service : {"catalog", "orders"}) {
    EXPECT_THAT(refused.errors, HasSubstr(one_->Service(service)->module_hash()));
  }
}

TEST_F(Exchange, ModulesThatTheHostHasNeedNotBeInTheArchive) {
  two_->WriteDeployment(
      "services:\n"
      "  - {name: a, module: \"${echo}\", listen: [\"http://127.0.0.1:0\"]}\n"
      "  - {name: b, module: \"${echo2}\", listen: [\"http://127.0.0.1:0\"]}\n");
  ASSERT_TRUE(two_->Reload()->problems().empty());
  ASSERT_EQ(Export({}).exit_code, 0);
  Outcome imported;
  // The list of the store follows a change by a turn of its own.
  ASSERT_TRUE(Eventually([&] {
    imported = Ctl(*two_, {"import", archive_, "--yes"});
    return imported.exit_code == 0;
  })) << imported.errors;
  ASSERT_TRUE(two_->WaitUntilReady());
  EXPECT_THAT(BodyOf(*two_, "orders"), EndsWith(" 2\n"));
}

TEST_F(Exchange, ACutArchiveIsRefusedWhole) {
  ASSERT_EQ(Export({"--modules"}).exit_code, 0);
  std::filesystem::resize_file(archive_, std::filesystem::file_size(archive_) - 4096);
  EXPECT_EQ(Refused({"import", archive_, "--yes"}).exit_code, 1);
  std::ofstream(archive_) << "something else";
  EXPECT_EQ(Refused({"import", archive_, "--yes"}).exit_code, 1);
}

TEST_F(Exchange, WhatTheHostRefusesLeavesItAsItWas) {
  // The other host listens there, on the same machine.
  const std::string taken = folder_ / "taken.sock";
  one_->WriteDeployment(absl::StrCat(
      "services:\n  - {name: orders, module: \"${echo2}\", listen: [\"http+unix:", taken,
      "\"]}\n"));
  ASSERT_TRUE(one_->Reload()->problems().empty());
  ASSERT_EQ(Export({"--modules"}).exit_code, 0);
  const Outcome refused = Refused({"import", archive_, "--yes"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.errors, HasSubstr(taken));
  EXPECT_THAT(BodyOf(*two_, "old"), Not(HasSubstr("refused")));
}

TEST_F(Exchange, NothingHappensWithoutConsent) {
  ASSERT_EQ(Export({"--modules"}).exit_code, 0);
  const Outcome shown = Refused({"import", archive_, "--dry-run"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.out, HasSubstr("+ catalog"));
  EXPECT_EQ(Refused({"import", archive_}).exit_code, 1);
}

TEST_F(Exchange, APersonIsAskedOnATerminal) {
  ASSERT_EQ(Export({"--modules"}).exit_code, 0);
  const UniqueFd person(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(person.valid());
  ASSERT_EQ(grantpt(person.get()), 0);
  ASSERT_EQ(unlockpt(person.get()), 0);
  const UniqueFd terminal = *OpenFile(ptsname(person.get()), O_RDWR | O_NOCTTY);
  ASSERT_TRUE(WriteAll(person.get(), "n\n").ok());
  const Outcome refused = Refused({"import", archive_}, terminal.get());
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.errors, HasSubstr("Apply it?"));
  ASSERT_TRUE(WriteAll(person.get(), "y\n").ok());
  EXPECT_EQ(Ctl(*two_, {"import", archive_}, terminal.get()).exit_code, 0);
  ASSERT_TRUE(two_->WaitUntilReady());
  EXPECT_EQ(two_->Services().size(), 2u);
}

TEST_F(Exchange, IncludedFilesAreNamedSinceTheyAreNoLongerRead) {
  const std::string more = two_->folder() / "more.yaml";
  std::ofstream(more) << "services:\n  - {name: more, module: "
                      << std::filesystem::absolute("tests/services/slow.so").string()
                      << ", listen: [\"http://127.0.0.1:0\"]}\n";
  two_->WriteDeployment("include: [more.yaml]\n");
  ASSERT_TRUE(two_->Reload()->problems().empty());
  ASSERT_EQ(Export({"--modules"}).exit_code, 0);
  const std::string files = folder_ / "files";
  const Outcome imported = Ctl(*two_, {"import", archive_, "-y", "--modules-to", files});
  ASSERT_EQ(imported.exit_code, 0) << imported.errors;
  EXPECT_THAT(imported.out, HasSubstr(more));
  EXPECT_THAT(imported.out, HasSubstr("- more\n"));
  EXPECT_TRUE(std::filesystem::exists(
      absl::StrCat(files, "/", one_->Service("orders")->module_hash(), ".so")));
}

}  // namespace
}  // namespace cohost::testing
