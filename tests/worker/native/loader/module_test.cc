// SPDX-License-Identifier: Apache-2.0
#include "worker/native/loader/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

namespace cohost::worker::native {
namespace {

using ::testing::HasSubstr;

const cohost_host& Host() {
  static const cohost_host host = [] {
    cohost_host table = {};
    table.major = COHOST_ABI_MAJOR;
    table.size = sizeof(table);
    return table;
  }();
  return host;
}

absl::StatusOr<std::unique_ptr<Module>> Load(const std::string& module) {
  return Module::Load("tests/worker/native/modules/" + module + ".so", Host());
}

void ExpectRefusal(const std::string& module, const std::string& why) {
  const auto loaded = Load(module);
  ASSERT_FALSE(loaded.ok()) << module;
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr(module + ".so: ")) << module;
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr(why)) << module;
}

TEST(Module, AnOlderTableIsCompletedWithNulls) {
  const auto module = Load("odd_old");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_NE((*module)->table().request, nullptr);
  EXPECT_EQ((*module)->table().health, nullptr);
}

TEST(Module, ANewerTableIsReadAsFarAsItIsKnown) {
  const auto module = Load("odd_new");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_NE((*module)->table().request, nullptr);
  EXPECT_EQ((*module)->table().start, nullptr);
}

TEST(Module, WhatDoesNotFitIsRefusedWithFileReasonAndRemedy) {
  ExpectRefusal("odd_major", "rebuild it");
  ExpectRefusal("odd_size", "sizeof(cohost_module)");
  ExpectRefusal("odd_missing", "required");
  ExpectRefusal("odd_flags", "choose one");
  ExpectRefusal("odd_refuses", "does not fit this worker");
  ExpectRefusal("odd_null", "gave no table");
  ExpectRefusal("odd_name", "exports no cohost_module_v1");
  ExpectRefusal("odd_undefined", "nobody_defines_this");
}

TEST(Module, UnknownFlagsAreIgnoredAndASingleServiceIsKept) {
  const auto module = Load("odd_single");
  ASSERT_TRUE(module.ok());
  EXPECT_TRUE((*module)->AddService().ok());
  const absl::Status second = (*module)->AddService();
  EXPECT_THAT(std::string(second.message()), HasSubstr("one service per worker"));
  (*module)->RemoveService();
  EXPECT_TRUE((*module)->AddService().ok());
}

TEST(Module, MOD_06_OneThatNeedsTooMuchStaticStorageIsToldTheLimit) {
  const auto loaded = Load("odd_tls_65536");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("about 1,600 bytes"));
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("-ftls-model=initial-exec"));
}

// Forty modules with 200 bytes each: some do not fit any more, and those before them go on.
TEST(Module, MOD_06_TheOneThatDoesNotFitLeavesTheOthersAlone) {
  ModuleSet modules(Host());
  size_t loaded = 0;
  absl::Status failure;
  for (int i = 0; i < 40 && failure.ok(); ++i) {
    const std::string path = ::testing::TempDir() + "/tls_" + std::to_string(i) + ".so";
    std::filesystem::copy_file("tests/worker/native/modules/odd_tls_200.so", path);
    const auto module = modules.Load(path);
    failure = module.status();
    if (module.ok()) ++loaded;
  }
  EXPECT_GT(loaded, 0u);
  EXPECT_EQ(failure.code(), absl::StatusCode::kResourceExhausted) << failure.message();
  const auto again = modules.Load(::testing::TempDir() + "/tls_0.so");
  ASSERT_TRUE(again.ok());
  EXPECT_NE((*again)->table().request, nullptr);
  EXPECT_TRUE(modules.Load("tests/worker/native/modules/odd_new.so").ok());
}

// What a constructor does cannot be caught (a catch around dlopen is no help): the process ends at
// once, and the supervisor knows by the unanswered assignment whose module it was.
TEST(ModuleDeathTest, MOD_07_AConstructorThatThrowsEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT((void)Module::Load("tests/services/constructor_throws.so", Host()),
              ::testing::KilledBySignal(SIGABRT), "terminate");
}

TEST(ModuleDeathTest, MOD_07_AConstructorThatExitsEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT((void)Module::Load("tests/services/constructor_exits.so", Host()),
              ::testing::ExitedWithCode(7), "");
}

TEST(ModuleSet, LoadsAFileOnce) {
  ModuleSet modules(Host());
  const auto first = modules.Load("tests/worker/native/modules/odd_new.so");
  const auto second = modules.Load("tests/worker/native/modules/odd_new.so");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
}

TEST(ModuleSet, TriesAFailedFileAgain) {
  ModuleSet modules(Host());
  const std::string path = ::testing::TempDir() + "/later.so";
  EXPECT_FALSE(modules.Load(path).ok());
  std::filesystem::copy_file("tests/worker/native/modules/odd_new.so", path);
  EXPECT_TRUE(modules.Load(path).ok());
}

}  // namespace
}  // namespace cohost::worker::native
