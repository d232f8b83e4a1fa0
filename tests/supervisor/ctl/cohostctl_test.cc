// SPDX-License-Identifier: Apache-2.0
//
// The binary itself against a fake host (admin_host.cc): what people see, exit statuses, JSON.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/admin/unix_socket.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_process.h"
#include "tests/support/wait.h"

namespace cohost::supervisor {
namespace {

using cohost::testing::ProgramPath;
using cohost::testing::TemporaryFolder;
using cohost::testing::TestProcess;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string HostName() {
  std::array<char, 256> name{};
  EXPECT_EQ(::gethostname(name.data(), name.size() - 1), 0);
  return name.data();
}

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string errors;
};

class CohostctlTest : public ::testing::Test {
 protected:
  CohostctlTest() {
    std::array<int, 2> input{};
    std::array<int, 2> output{};
    EXPECT_EQ(::pipe2(input.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(output.data(), O_CLOEXEC), 0);
    input_ = UniqueFd(input[1]);
    const UniqueFd child_input(input[0]);
    const UniqueFd ready(output[0]);
    const UniqueFd child_output(output[1]);
    auto host = TestProcess::Start(
        {.command = {ProgramPath("tests/supervisor/ctl/admin_host"), folder_.path()},
         .environment = {},
         .descriptors = {{0, child_input.get()}, {1, child_output.get()}}});
    EXPECT_TRUE(host.ok()) << host.status();
    if (!host.ok()) return;
    host_ = *std::move(host);
    EXPECT_TRUE(cohost::testing::WaitReadable(ready.get()));
  }

  Outcome Run(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
    arguments.insert(arguments.begin(),
                     {ProgramPath("supervisor/ctl/cohostctl"), "--socket", folder_ / "admin.sock"});
    return RunBare(std::move(arguments), std::move(environment));
  }

  Outcome RunBare(std::vector<std::string> command, std::vector<std::string> environment = {}) {
    environment.emplace_back("TZ=UTC");
    const auto open = [&](const char* name) {
      return UniqueFd(
          ::open((folder_ / name).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    };
    const UniqueFd out = open("out");
    const UniqueFd errors = open("errors");
    auto process = TestProcess::Start({.command = std::move(command),
                                       .environment = std::move(environment),
                                       .descriptors = {{1, out.get()}, {2, errors.get()}}});
    EXPECT_TRUE(process.ok()) << process.status();
    Outcome outcome;
    if (!process.ok()) return outcome;
    const auto ended = (*process)->WaitUntilEnded();
    EXPECT_TRUE(ended.has_value());
    if (ended && ended->exit_code) outcome.exit_code = *ended->exit_code;
    outcome.out = ReadFile(folder_ / "out");
    outcome.errors = ReadFile(folder_ / "errors");
    return outcome;
  }

  // What people see is what the file says.
  void ExpectGolden(const std::string& file, std::vector<std::string> arguments) {
    Outcome outcome = Run(std::move(arguments));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    const std::string name = HostName();
    const size_t at = outcome.out.find(name + ", cohost");
    if (at != std::string::npos) outcome.out.replace(at, name.size(), "HOST");
    EXPECT_EQ(outcome.out, ReadFile("tests/supervisor/ctl/golden/" + file));
  }

  TemporaryFolder folder_;
  UniqueFd input_;
  std::unique_ptr<TestProcess> host_;
};

TEST_F(CohostctlTest, TablesAreAsTheGoldenFiles) {
  ExpectGolden("status", {"status"});
  ExpectGolden("services", {"services"});
  ExpectGolden("service", {"services", "catalog"});
  ExpectGolden("groups", {"groups"});
  ExpectGolden("group", {"groups", "front"});
  ExpectGolden("workers", {"workers"});
  ExpectGolden("modules", {"modules"});
  ExpectGolden("memory", {"memory"});
  ExpectGolden("memory_modules", {"memory", "--modules"});
  ExpectGolden("memory_unshared", {"memory", "--unshared", "--samples", "2"});
  ExpectGolden("plan", {"plan"});
  ExpectGolden("events", {"events"});
  ExpectGolden("history", {"history"});
  ExpectGolden("history_service", {"history", "catalog"});
  ExpectGolden("deploy", {"deploy", "catalog", "/srv/new.so", "--wait"});
  ExpectGolden("rollback", {"rollback", "catalog"});
  ExpectGolden("fsck", {"fsck", "--collect"});
}

TEST_F(CohostctlTest, DeployTellsWhatIsWrongByItsExitStatus) {
  const Outcome wrong = Run({"deploy", "catalog", "/srv/wrong.so"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.errors, HasSubstr("services.catalog.module: it is cut"));
  EXPECT_THAT(wrong.errors, HasSubstr("nothing was changed"));
  const Outcome sick = Run({"deploy", "catalog", "/srv/sick.so"});
  EXPECT_EQ(sick.exit_code, 1);
  EXPECT_THAT(sick.errors, HasSubstr("the canary did not become ready"));
  const Outcome same = Run({"deploy", "catalog"});
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_THAT(same.out, HasSubstr("nothing changed"));
  EXPECT_EQ(Run({"deploy", "catalog", "--canary-time", "soon"}).exit_code, 1);
  const Outcome whole = Run({"rollback"});
  EXPECT_EQ(whole.exit_code, 1);
  EXPECT_THAT(whole.errors, HasSubstr("--to"));
  EXPECT_EQ(Run({"rollback", "--to", "2"}).exit_code, 0);
}

TEST_F(CohostctlTest, SamplesAreCountedAndGoWithUnsharedAlone) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"memory", "--samples", "2"},
                                             {"memory", "--unshared", "--samples", "17"},
                                             {"memory", "--unshared", "--samples", "0"},
                                             {"memory", "--unshared", "--modules"}}) {
    EXPECT_EQ(Run(wrong).exit_code, 1) << wrong.back();
  }
  EXPECT_THAT(Run({"memory", "--unshared", "-o", "json"}).out, HasSubstr("\"service\": \"orders\""))
      << "four of five";
}

TEST_F(CohostctlTest, ModulesFitATerminal) {
  const Outcome outcome = Run({"memory", "--modules"});
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(Run({"memory", "--modules", "-o", "json"}).out,
              HasSubstr("\"savedBytes\": \"1360000\""));
  EXPECT_THAT(Run({"memory", "-o", "json"}).out, HasSubstr("\"moduleMemory\": []"));
}

TEST_F(CohostctlTest, NoLineOfATableEndsWithABlank) {
  for (const char* command : {"services", "workers", "groups", "memory", "modules", "plan"}) {
    const Outcome outcome = Run({command});
    EXPECT_EQ(outcome.out.find(" \n"), std::string::npos) << command;
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << "no colour without a terminal";
  }
}

TEST_F(CohostctlTest, JsonIsOneDocumentAndOneObjectALine) {
  const Outcome services = Run({"-o", "json", "services"});
  EXPECT_EQ(services.exit_code, 0);
  EXPECT_THAT(services.out, StartsWith("{\n"));
  EXPECT_THAT(services.out, HasSubstr("\"name\": \"search\""));
  EXPECT_THAT(services.out, HasSubstr("\"errors\": \"3\""));
  // Options may follow the command.
  const Outcome events = Run({"events", "--last", "2", "--output", "json"});
  EXPECT_EQ(std::count(events.out.begin(), events.out.end(), '\n'), 2);
  EXPECT_THAT(events.out, StartsWith("{\"id\":\"2\""));
}

TEST_F(CohostctlTest, MutationsSayWhatTheyDid) {
  EXPECT_EQ(Run({"stop", "catalog"}).out, "catalog stopped, event #4\n");
  EXPECT_THAT(Run({"services", "catalog"}).out, HasSubstr("stopped by an operator"));
  EXPECT_EQ(Run({"start", "catalog"}).out, "catalog started, event #5\n");
  EXPECT_EQ(Run({"recycle", "front"}).out, "front/0 recycled\nfront/1 recycled\n");
  EXPECT_EQ(Run({"recycle", "front/1"}).out, "front/1 recycled\n");
  EXPECT_EQ(Run({"reload"}).out, "revision 4\nadded    billing\nchanged  catalog\n");
}

TEST_F(CohostctlTest, AWrongCallIsOneAndSaysWhatToDo) {
  Outcome outcome = Run({"stop", "catalgo"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.errors, "cohostctl: no service 'catalgo'; did you mean 'catalog'?\n");
  outcome = Run({"recycle", "front/7"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("its slots are 0 to 1"));
  outcome = Run({"recycle", "front/x"});
  EXPECT_EQ(outcome.exit_code, 1);
  outcome = Run({"statsu"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("did you mean 'status'?"));
  outcome = Run({});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("--help"));
  EXPECT_EQ(Run({"status", "--timeout", "5"}).exit_code, 1);
  EXPECT_EQ(Run({"status", "-o", "yaml"}).exit_code, 1);
  EXPECT_EQ(Run({"events", "--last", "-1"}).exit_code, 1);
}

TEST_F(CohostctlTest, AWrongDeploymentIsOneWithEveryProblem) {
  std::ofstream(folder_ / "wrong.yaml") << "memory: wrong\n";
  const Outcome outcome = Run({"plan", folder_ / "wrong.yaml"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("wrong.yaml:4:11: services[0].limits.memory: "));
  EXPECT_THAT(outcome.errors, HasSubstr("1 error; there is no plan for it"));
  EXPECT_EQ(outcome.out, "");
  const Outcome missing = Run({"plan", folder_ / "missing.yaml"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.errors, HasSubstr("missing.yaml"));
  const Outcome running = Run({"validate"});
  EXPECT_EQ(running.exit_code, 0);
  EXPECT_EQ(running.out, "valid, 5 services\n");
}

TEST_F(CohostctlTest, FilesAreSignedAndVerifiedWithoutAHost) {
  const std::string file = folder_ / "a.so";
  std::ofstream(file) << "a module";
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ProgramPath("supervisor/ctl/cohostctl"), "--socket",
                                         folder_ / "missing.sock", "modules"});
    return RunBare(std::move(arguments));
  };
  EXPECT_EQ(run({"new-key", folder_ / "release"}).exit_code, 0);
  EXPECT_EQ(run({"verify", "--key", folder_ / "release.pub", file}).exit_code, 1);
  const Outcome signing = run({"sign", "--key", folder_ / "release.key", file});
  EXPECT_EQ(signing.exit_code, 0) << signing.errors;
  const Outcome verified = run({"verify", "--key", folder_ / "release.pub", file});
  EXPECT_EQ(verified.exit_code, 0) << verified.errors;
  EXPECT_EQ(verified.out, file + ": good\n");
}

TEST_F(CohostctlTest, AFileIsValidatedWithoutAHost) {
  const std::string program = ProgramPath("supervisor/ctl/cohostctl");
  const std::string file = folder_ / "deployment.yaml";
  std::ofstream(file) << "version: 1\nhots: {}\n";
  const std::vector<std::string> nowhere = {program, "--socket", folder_ / "missing.sock"};
  std::vector<std::string> command = nowhere;
  command.insert(command.end(), {"validate", file});
  const Outcome wrong = RunBare(command);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.errors, HasSubstr(file + ":2:1: "));
  EXPECT_THAT(wrong.errors, HasSubstr("host"));
  std::ofstream(file) << "version: 1\n";
  const Outcome right = RunBare(command);
  EXPECT_EQ(right.exit_code, 0) << right.errors;
  EXPECT_EQ(right.out, "valid, 0 services\n");
  command.back() = folder_ / "missing.yaml";
  const Outcome missing = RunBare(command);
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.errors, HasSubstr("missing.yaml"));
}

TEST_F(CohostctlTest, AHostThatIsNotThereIsTwoAndNamesTheSocket) {
  const std::string program = ProgramPath("supervisor/ctl/cohostctl");
  const std::string missing = folder_ / "missing.sock";
  Outcome outcome = RunBare({program, "--socket", missing, "status"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr(missing));
  EXPECT_THAT(outcome.errors, HasSubstr("cohostd"));
  // From the environment, and a socket that nobody listens on any more.
  const std::string dead = folder_ / "dead.sock";
  cohost::testing::ListenOn(dead);
  outcome = RunBare({program, "status"}, {"COHOST_SOCKET=" + dead});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("nobody listens"));
}

TEST_F(CohostctlTest, AHostThatDoesNotAnswerIsTwoInTime) {
  const std::string silent = folder_ / "silent.sock";
  const UniqueFd listener = cohost::testing::ListenOn(silent);
  const Outcome outcome = RunBare({ProgramPath("supervisor/ctl/cohostctl"), "--socket", silent,
                                   "--timeout", "300ms", "status"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("did not answer in time"));
}

TEST_F(CohostctlTest, LogsOfAServiceAGroupAndASlot) {
  std::ofstream(folder_ / "front-0.log")
      << "{\"time\":\"1\",\"service\":\"orders\",\"message\":\"a\"}\nplain \x1b[31m\n";
  std::ofstream(folder_ / "front-1.log") << "other\n";
  EXPECT_EQ(Run({"logs", "front/0", "--last", "1"}).out, "plain ?[31m\n")
      << "a service's output does not steer the terminal";
  EXPECT_THAT(Run({"logs", "front"}).out, HasSubstr("front/1  other\n"));
  EXPECT_EQ(Run({"logs", "orders"}).out,
            "front/0  {\"time\":\"1\",\"service\":\"orders\",\"message\":\"a\"}\n");
  const Outcome unknown = Run({"logs", "oders"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.errors, HasSubstr("'orders'"));
}

TEST_F(CohostctlTest, HelpOfEveryCommandHasAnExample) {
  const std::string program = ProgramPath("supervisor/ctl/cohostctl");
  for (const char* command :
       {"status", "services", "groups", "workers", "modules", "memory", "plan", "validate",
        "reload", "recycle", "stop", "start", "events", "logs", "completion", "version"}) {
    const Outcome outcome = RunBare({program, command, "--help"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr(std::string("Usage: cohostctl ") + command));
    EXPECT_THAT(outcome.out, HasSubstr("Examples:\n  "));
  }
  EXPECT_THAT(RunBare({program, "--help"}).out, HasSubstr("Exit status: 0 done"));
}

TEST_F(CohostctlTest, TheCompletionScriptIsBashAndKnowsTheHostsNames) {
  const std::string program = ProgramPath("supervisor/ctl/cohostctl");
  const std::string script = folder_ / "completion";
  std::ofstream(script) << RunBare({program, "completion", "bash"}).out;
  EXPECT_EQ(RunBare({"/bin/bash", "-n", script}).exit_code, 0);
  const auto complete = [&](const std::string& words, int word) {
    const std::string command = "cohostctl() { " + program + " --socket " +
                                (folder_ / "admin.sock") + " \"$@\"; }; source " + script +
                                "; COMP_WORDS=(" + words + ") COMP_CWORD=" + std::to_string(word) +
                                "; _cohostctl; echo \"${COMPREPLY[*]}\"";
    return RunBare({"/bin/bash", "-c", command}).out;
  };
  EXPECT_EQ(complete("cohostctl sta", 1), "status start\n");
  EXPECT_EQ(complete("cohostctl stop c", 2), "catalog currency\n");
  EXPECT_EQ(complete("cohostctl recycle front", 2), "front front/0 front/1\n");
  EXPECT_THAT(RunBare({program, "completion", "zsh"}).out, HasSubstr("#compdef cohostctl"));
  EXPECT_THAT(RunBare({program, "completion", "fish"}).out, HasSubstr("complete -c cohostctl"));
  EXPECT_EQ(RunBare({program, "completion", "tcsh"}).exit_code, 1);
}

TEST_F(CohostctlTest, VersionOfBothSides) {
  const Outcome outcome = Run({"version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("cohostctl "));
  EXPECT_THAT(outcome.out, HasSubstr("host      1.2.3\n"));
}

}  // namespace
}  // namespace cohost::supervisor
