// SPDX-License-Identifier: Apache-2.0
#include "worker/dotnet/current_folder.h"

#include <gtest/gtest.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace cohost::worker::dotnet {
namespace {

std::string Folder() {
  std::array<char, PATH_MAX> path;
  return ::getcwd(path.data(), path.size()) == nullptr ? "" : path.data();
}

class CurrentFolder : public ::testing::Test {
 protected:
  CurrentFolder() {
    std::filesystem::create_directories(folder_ / "a/inner");
    std::filesystem::create_directories(folder_ / "b");
    SetServiceFolder(1, folder_ / "a");
    SetServiceFolder(2, folder_ / "b");
  }
  ~CurrentFolder() override { SetThreadService(-1); }

  // What `pwd` prints as a child of this thread, started as .NET starts children. `first` is done
  // in the child.
  std::string FolderOfChild(const char* chosen) {
    std::array<int, 2> ends;
    EXPECT_EQ(::pipe(ends.data()), 0);
    const std::array<char*, 2> arguments = {const_cast<char*>("/bin/pwd"), nullptr};
    const pid_t child = ::vfork();
    if (child == 0) {
      (void)::dup2(ends[1], STDOUT_FILENO);
      if (chosen != nullptr && ::chdir(chosen) != 0) ::_exit(1);
      (void)::execve("/bin/pwd", arguments.data(), environ);
      ::_exit(1);
    }
    ::close(ends[1]);
    std::array<char, PATH_MAX> text{};
    const ssize_t count = ::read(ends[0], text.data(), text.size());
    ::close(ends[0]);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return count <= 1 ? "" : std::string(text.data(), static_cast<size_t>(count) - 1);
  }

  cohost::testing::TemporaryFolder folder_;
  const std::string kernels_ = Folder();
};

TEST_F(CurrentFolder, IsThatOfTheServiceWhichTheThreadWorksFor) {
  SetThreadService(1);
  EXPECT_EQ(Folder(), folder_ / "a");
  SetThreadService(2);
  EXPECT_EQ(Folder(), folder_ / "b");
  std::string of_other_thread;
  std::thread([&] { of_other_thread = Folder(); }).join();
  EXPECT_EQ(of_other_thread, kernels_);
  SetThreadService(-1);
  EXPECT_EQ(Folder(), kernels_);
}

TEST_F(CurrentFolder, OfAServiceWithoutOneIsTheKernels) {
  SetThreadService(3);
  EXPECT_EQ(Folder(), kernels_);
}

TEST_F(CurrentFolder, AChangeIsTheServicesOwn) {
  SetThreadService(1);
  ASSERT_EQ(::chdir("inner"), 0);
  EXPECT_EQ(Folder(), folder_ / "a/inner");
  ASSERT_EQ(::chdir(".."), 0);
  EXPECT_EQ(Folder(), folder_ / "a");
  SetThreadService(2);
  EXPECT_EQ(Folder(), folder_ / "b");
  SetThreadService(-1);
  EXPECT_EQ(Folder(), kernels_);
}

TEST_F(CurrentFolder, AFolderThatCannotBeOneIsRefusedAsTheKernelDoes) {
  std::ofstream(folder_ / "a/file") << "x";
  SetThreadService(1);
  EXPECT_EQ(::chdir("missing"), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(::chdir("file"), -1);
  EXPECT_EQ(errno, ENOTDIR);
  EXPECT_EQ(::chdir(""), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(Folder(), folder_ / "a");
}

TEST_F(CurrentFolder, ABufferThatIsTooSmallIsToldAndANullOneIsAllocated) {
  SetThreadService(1);
  std::array<char, 2> small;
  EXPECT_EQ(::getcwd(small.data(), small.size()), nullptr);
  EXPECT_EQ(errno, ERANGE);
  char* const allocated = ::getcwd(nullptr, 0);
  ASSERT_NE(allocated, nullptr);
  EXPECT_EQ(std::string(allocated), folder_ / "a");
  std::free(allocated);
}

TEST_F(CurrentFolder, AChildBeginsInTheServicesFolderUnlessItIsToldAnother) {
  SetThreadService(1);
  EXPECT_EQ(FolderOfChild(nullptr), folder_ / "a");
  EXPECT_EQ(FolderOfChild((folder_ / "b").c_str()), folder_ / "b");
  // The choice was the child's: the next one, and this thread, have the service's again.
  EXPECT_EQ(FolderOfChild(nullptr), folder_ / "a");
  EXPECT_EQ(Folder(), folder_ / "a");
  SetThreadService(-1);
  EXPECT_EQ(FolderOfChild(nullptr), kernels_);
}

}  // namespace
}  // namespace cohost::worker::dotnet
