// SPDX-License-Identifier: Apache-2.0
#include "worker/dotnet/managed_shim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace cohost::worker::dotnet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kFakeHostfxr[] = "tests/worker/dotnet/libhostfxr.so";

class ManagedShim : public ::testing::Test {
 protected:
  ManagedShim() { std::ofstream(shim_) << "an assembly, for those who read it"; }
  ~ManagedShim() override { ::unsetenv("FAKE_DOTNET"); }

  absl::StatusOr<ManagedTable> Start(const char* fails_at) {
    ::setenv("FAKE_DOTNET", fails_at, 1);
    return StartShim(kFakeHostfxr, shim_, host_);
  }
  // What is said when hostfxr fails at that step.
  std::string Failure(const char* fails_at) {
    const auto started = Start(fails_at);
    EXPECT_FALSE(started.ok());
    return std::string(started.status().message());
  }

  cohost::testing::TemporaryFolder folder_;
  const std::string shim_ = folder_ / "Cohost.Worker.dll";
  // The fake calls none of its functions.
  const HostTable host_{};
};

TEST_F(ManagedShim, GivesTheTableOfARuntimeThatStarts) {
  const auto started = Start("nothing");
  ASSERT_TRUE(started.ok()) << started.status();
  EXPECT_NE(started->load, nullptr);
}

TEST_F(ManagedShim, WhatHostfxrSaysIsPartOfTheReason) {
  EXPECT_THAT(Failure("prepare"),
              AllOf(HasSubstr("0x80008096"), HasSubstr("You must install or update .NET"),
                    HasSubstr("version '10.0.0'"), HasSubstr(shim_)));
}

TEST_F(ManagedShim, AHandleThatIsMissingIsAFailure) {
  EXPECT_THAT(Failure("handle"), HasSubstr("preparing .NET"));
}

TEST_F(ManagedShim, ARuntimeThatDoesNotStartIsNamedAsTheStep) {
  EXPECT_THAT(Failure("start"), AllOf(HasSubstr("starting CoreCLR"), HasSubstr("0x80008089")));
}

TEST_F(ManagedShim, AnAssemblyWithoutTheEntryPointIsNamed) {
  EXPECT_THAT(Failure("find"), AllOf(HasSubstr("Cohost.Worker.Boundary"), HasSubstr(shim_)));
}

TEST_F(ManagedShim, AShimThatCannotInitializePointsToTheLog) {
  EXPECT_THAT(Failure("initialize"), HasSubstr("log"));
}

TEST_F(ManagedShim, AShimOfAnotherBuildIsRefused) {
  EXPECT_THAT(Failure("version"), AllOf(HasSubstr("999"), HasSubstr("different builds")));
}

TEST_F(ManagedShim, AMissingShimIsNamedWithItsPath) {
  const auto started = StartShim(kFakeHostfxr, folder_ / "none.dll", host_);
  EXPECT_EQ(started.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(started.status().message()), HasSubstr(folder_ / "none.dll"));
}

TEST_F(ManagedShim, ALibraryThatIsNoHostfxrIsRefused) {
  const std::string text = folder_ / "libhostfxr.so";
  std::ofstream(text) << "no library";
  const auto started = StartShim(text, shim_, host_);
  EXPECT_EQ(started.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(started.status().message()), HasSubstr(text));
  EXPECT_THAT(std::string(StartShim("libz.so.1", shim_, host_).status().message()),
              HasSubstr("hostfxr_initialize_for_dotnet_command_line"));
}

}  // namespace
}  // namespace cohost::worker::dotnet
