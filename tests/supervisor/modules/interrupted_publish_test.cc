// SPDX-License-Identifier: Apache-2.0
//
// STA-02 for the module store: a publisher is killed before each of its system calls in turn.
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/modules/module_store.h"
#include "tests/supervisor/modules/module_files.h"

namespace cohost::supervisor {
namespace {

using ::testing::IsEmpty;

constexpr char kPublisher[] = "tests/supervisor/modules/publisher";
constexpr int kMostCalls = 20'000;

// Runs the program until it has entered `calls` system calls and kills it there. The exit status
// when it ended before, -1 when it was killed, -2 when it cannot be traced.
// `log` gets the number of every call that was entered.
int RunUntil(int calls, const std::vector<std::string>& arguments,
             std::vector<uint64_t>* log = nullptr) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(99);
    ::execv(argv[0], argv.data());
    ::_exit(98);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return -2;
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  // Every call stops twice: at its entry and at its exit.
  for (int stops = 0; stops < calls * 2; ++stops) {
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) break;
    if (::waitpid(child, &status, 0) != child) return -2;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    __ptrace_syscall_info call;
    if (log != nullptr && stops % 2 == 0 &&
        ::ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), child, sizeof call,
                 &call) > 0) {
      log->push_back(call.entry.nr);
    }
    if (WIFSIGNALED(status)) return -2;
  }
  ::kill(child, SIGKILL);
  if (::waitpid(child, &status, 0) != child) return -2;
  return -1;
}

class InterruptedPublish : public ::testing::Test {
 protected:
  InterruptedPublish() {
    arguments_ = {kPublisher, store_};
    for (int i = 0; i < 3; ++i) {
      arguments_.push_back(folder_.Write(absl::StrCat("source", i), std::string(9000, 'a' + i)));
    }
  }

  // What a start after the kill finds and what fsck says.
  void ExpectSound(int calls) {
    SCOPED_TRACE(absl::StrCat("killed at system call ", calls));
    std::vector<std::string> notices;
    const auto store = ModuleStore::Open({.folder = store_}, &notices);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_THAT(notices, IsEmpty());
    const auto check = (*store)->Check();
    ASSERT_TRUE(check.ok()) << check.status();
    EXPECT_THAT(check->damaged, IsEmpty());
    const std::vector<std::string> names = NamesIn(store_).value();
    for (const std::string& name : names) {
      EXPECT_FALSE(name.starts_with(StoreFolder::kStaging)) << name;
    }
  }

  void Clean() {
    std::filesystem::remove_all(store_);
    std::filesystem::remove_all(folder_.path() + "/links");
    std::filesystem::create_directory(folder_.path() + "/links");
  }

  const TestFolder folder_;
  const std::string store_ = folder_.path() + "/store";
  std::vector<std::string> arguments_;
};

TEST_F(InterruptedPublish, STA_02_AKillAtAnySystemCallLeavesAStoreThatIsSound) {
  int calls = 0;
  for (;; ++calls) {
    ASSERT_LT(calls, kMostCalls);
    Clean();
    const int status = RunUntil(calls, arguments_);
    if (status == -2) GTEST_SKIP() << "this machine does not let a test trace its child";
    ExpectSound(calls);
    if (HasFailure()) return;
    if (status != -1) {
      EXPECT_EQ(status, 0);
      break;
    }
  }
  // Some of these were in the middle of a publish, not all before it.
  EXPECT_GT(calls, 60);
}

TEST_F(InterruptedPublish, STA_02_ContentIsSyncedBeforeNamesAndNamesBeforeTheEnd) {
  Clean();
  std::vector<uint64_t> calls;
  const int status = RunUntil(kMostCalls, arguments_, &calls);
  if (status == -2) GTEST_SKIP() << "this machine does not let a test trace its child";
  ASSERT_EQ(status, 0);
  const auto is_sync = [](uint64_t call) { return call == SYS_fsync || call == SYS_syncfs; };
  const auto is_name = [](uint64_t call) { return call == SYS_renameat2; };
  const auto first_name = std::find_if(calls.begin(), calls.end(), is_name);
  ASSERT_NE(first_name, calls.end());
  // One of the three files and one of the folder at least; nothing is written between the first and
  // the name.
  const auto before = std::find_if(std::make_reverse_iterator(first_name), calls.rend(), is_sync);
  ASSERT_NE(before, calls.rend());
  EXPECT_EQ(std::count(before.base(), first_name, SYS_write), 0);
  const auto last_name = std::find_if(calls.rbegin(), calls.rend(), is_name);
  EXPECT_NE(std::find_if(calls.rbegin(), last_name, is_sync), last_name);
}

TEST_F(InterruptedPublish, STA_02_APublishAfterTheKillCompletesWhatWasBegun) {
  Clean();
  int kills = 0;
  // Every time a little further, in what the one before has left.
  for (int calls = 20;; calls += 7, ++kills) {
    ASSERT_LT(calls, kMostCalls);
    std::filesystem::remove_all(folder_.path() + "/links");
    std::filesystem::create_directory(folder_.path() + "/links");
    const int status = RunUntil(calls, arguments_);
    if (status == -2) GTEST_SKIP() << "this machine does not let a test trace its child";
    if (status == -1) continue;
    EXPECT_EQ(status, 0);
    break;
  }
  EXPECT_GT(kills, 3);
  ExpectSound(0);
  EXPECT_EQ(ReadFile(folder_.path() + "/links/second"), std::string(9000, 'c'));
}

}  // namespace
}  // namespace cohost::supervisor
