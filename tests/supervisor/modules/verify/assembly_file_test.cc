// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/assembly_file.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/modules/verify/ready_to_run.h"
#include "tests/supervisor/modules/verify/assembly_bytes.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr FrameworkVersion kTen = {10, 0, 16};
constexpr uint16_t kOther = AssemblyBytes::kNative == kPeX64 ? kPeArm64 : kPeX64;

absl::StatusOr<AssemblyInfo> Read(const std::string& content) {
  return ReadAssembly(MemoryFile(content).get());
}

void ExpectRefused(const absl::Status& status, const std::string& why, const std::string& remedy) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(why), HasSubstr(remedy)));
}
void ExpectRefused(const AssemblyBytes& bytes, const std::string& why, const std::string& remedy) {
  ExpectRefused(Read(bytes.Build()).status(), why, remedy);
}

TEST(ReadAssembly, ReadsAnAssemblyForAnyMachine) {
  const auto info = Read(AssemblyBytes().Build());
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->name.name, "Sample");
  EXPECT_EQ(info->name.version.ToString(), "1.2.3.4");
  EXPECT_EQ(info->runtime_version, "v4.0.30319");
  EXPECT_FALSE(info->is_ready_to_run);
  EXPECT_EQ(info->Framework()->ToString(), "8.0.0.0");
}

TEST(ReadAssembly, ReadsAPrecompiledAssembly) {
  const auto info = Read(AssemblyBytes::ReadyToRun().Build());
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_TRUE(info->is_ready_to_run);
  EXPECT_EQ(info->ready_to_run_major, 16);
  EXPECT_EQ(info->ready_to_run_minor, 0);
}

// What .NET 10.0.12 does with each of these was tried.
TEST(ReadAssembly, TakesIlOfTheMachinesThatTheRuntimeTakes) {
  AssemblyBytes bytes;
  bytes.cli_flags = 0x1 | 0x2;
  ExpectRefused(bytes, "32 bits", "build it for AnyCPU");
  bytes.cli_flags = 0x1 | 0x2 | 0x20000;  // prefers 32 bits
  EXPECT_TRUE(Read(bytes.Build()).ok()) << Read(bytes.Build()).status();
  bytes = AssemblyBytes();
  bytes.machine = AssemblyBytes::kNative;
  ExpectRefused(bytes, "another machine", "AnyCPU");  // with headers of 32 bits
  bytes.is_64_bit = true;
  EXPECT_TRUE(Read(bytes.Build()).ok()) << Read(bytes.Build()).status();
  bytes.machine = kOther;
  ExpectRefused(bytes, "another machine", "AnyCPU");
  bytes.machine = kPeI386;
  ExpectRefused(bytes, "another machine", "AnyCPU");
}

TEST(ReadAssembly, RefusesCodeForOtherMachinesByName) {
  AssemblyBytes bytes = AssemblyBytes::ReadyToRun();
  bytes.machine = AssemblyBytes::kNative;  // Windows
  ExpectRefused(bytes, "precompiled for another machine", "or without PublishReadyToRun");
  bytes.machine = kOther ^ kPeLinux;
  ExpectRefused(bytes, "precompiled for another machine", "with Linux");
  bytes.machine = kPeArm64 ^ 0x4644;
  ExpectRefused(bytes, "AArch64 with macOS", "publish it for");
  bytes.machine = 4711;
  ExpectRefused(bytes, "machine 4711", "publish it for");
  bytes = AssemblyBytes::ReadyToRun();
  bytes.is_64_bit = false;
  ExpectRefused(bytes, "another machine", "publish it for");
}

TEST(ReadAssembly, RefusesCompositeImages) {
  AssemblyBytes bytes = AssemblyBytes::ReadyToRun();
  bytes.ready_to_run_sections.emplace_back(ReadyToRunHeader::kOwnerComposite,
                                           AssemblyBytes::kSectionAddress);
  ExpectRefused(bytes, "composite", "PublishReadyToRunComposite=false");
}

TEST(ReadAssembly, RefusesMixedAndNativeFiles) {
  AssemblyBytes bytes;
  bytes.cli_flags = 0;
  ExpectRefused(bytes, "mixes .NET with native code", "pure .NET");
  const std::string fixups =
      With<uint32_t>(AssemblyBytes().Build(), AssemblyBytes::kCliHeader + 52, 8);
  ExpectRefused(Read(fixups).status(), "mixes .NET with native code", "pure .NET");
  bytes = AssemblyBytes();
  bytes.has_cli_header = false;
  ExpectRefused(bytes, "native library for Windows", "leave it out");
}

TEST(ReadAssembly, RefusesModulesOfOtherAssemblies) {
  AssemblyBytes bytes;
  bytes.has_assembly = false;
  ExpectRefused(bytes, "module of another assembly", "build it into it");
}

TEST(ReadAssembly, MOD_01_RefusesEveryTruncation) {
  for (const AssemblyBytes& bytes : {AssemblyBytes(), AssemblyBytes::ReadyToRun()}) {
    const std::string good = bytes.Build();
    for (size_t length = 0; length < good.size(); ++length) {
      EXPECT_EQ(Read(good.substr(0, length)).status().code(), absl::StatusCode::kInvalidArgument)
          << length;
    }
  }
}

TEST(ReadAssembly, RefusesHostileCliHeaders) {
  const std::string good = AssemblyBytes().Build();
  for (const size_t field : {8, 24, 32}) {  // metadata, resources, strong name
    const std::string place = With<uint32_t>(good, AssemblyBytes::kCliHeader + field, 0xfffffff0);
    const std::string size =
        With<uint32_t>(good, AssemblyBytes::kCliHeader + field + 4, 0xfffffff0);
    EXPECT_FALSE(Read(size).ok()) << field;
    EXPECT_FALSE(Read(With<uint32_t>(place, AssemblyBytes::kCliHeader + field + 4, 4)).ok())
        << field;
  }
  const std::string native = AssemblyBytes::ReadyToRun().Build();
  EXPECT_FALSE(Read(With<uint32_t>(native, AssemblyBytes::kCliHeader + 64, 0xfffffff0)).ok());
  EXPECT_FALSE(Read(With<uint32_t>(native, AssemblyBytes::kCliHeader + 64, 0)).ok());
}

TEST(ReadAssembly, SurvivesDamagedBytesAnywhere) {
  std::mt19937 random(4);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string damaged =
        round % 2 == 0 ? AssemblyBytes().Build() : AssemblyBytes::ReadyToRun().Build();
    for (int i = 0; i < 6; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (!Read(damaged).ok()) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

TEST(CheckFramework, RefusesANewerFrameworkNamingBoth) {
  AssemblyBytes bytes;
  for (const char* name : {"System.Runtime", "System.Private.CoreLib"}) {
    bytes.references = {{"Other", {99, 0, 0, 0}}, {name, {10, 0, 0, 0}}};
    EXPECT_TRUE(CheckAssembly(MemoryFile(bytes.Build()).get(), kTen).ok());
    bytes.references[1].version = {10, 1, 0, 0};
    EXPECT_FALSE(CheckAssembly(MemoryFile(bytes.Build()).get(), kTen).ok());
    bytes.references[1].version = {11, 0, 0, 0};
    ExpectRefused(CheckAssembly(MemoryFile(bytes.Build()).get(), kTen).status(),
                  "it needs .NET 11.0, and this host runs .NET 10.0",
                  "build it for net10.0 or update .NET here");
  }
}

TEST(CheckFramework, WhatEveryVersionHasIsNoFramework) {
  AssemblyInfo info;
  EXPECT_FALSE(info.Framework().has_value());
  info.references = {
      {"netstandard", {2, 1, 0, 0}}, {"mscorlib", {4, 0, 0, 0}}, {"System.Runtime", {4, 2, 2, 0}}};
  EXPECT_FALSE(info.Framework().has_value());
  EXPECT_TRUE(CheckFramework(info, {5, 0, {}}).ok());
}

TEST(AssemblyWarnings, SayWhenPrecompiledCodeMayBeIgnored) {
  AssemblyInfo info;
  EXPECT_THAT(AssemblyWarnings(info, kTen), IsEmpty());
  info.is_ready_to_run = true;
  info.ready_to_run_major = 16;
  EXPECT_THAT(AssemblyWarnings(info, kTen), IsEmpty());
  info.ready_to_run_major = 9;
  EXPECT_THAT(AssemblyWarnings(info, kTen),
              ElementsAre(AllOf(HasSubstr("version 9"), HasSubstr("version 16"))));
  EXPECT_THAT(AssemblyWarnings(info, {10, 0, {}}), IsEmpty());
}

}  // namespace
}  // namespace cohost::supervisor
