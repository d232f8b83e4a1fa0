// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/cli_metadata.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/verify/assembly_bytes.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Of AssemblyBytes::Metadata.
constexpr size_t kVersionLength = 12;
constexpr size_t kFirstStream = 32;
constexpr size_t kTables = 64;

void ExpectRefused(const std::string& metadata, const std::string& why) {
  const absl::Status status = CliMetadata::Parse(metadata).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
  EXPECT_THAT(std::string(status.message()), HasSubstr(why));
}

TEST(CliMetadata, ReadsNamesAndVersions) {
  AssemblyBytes bytes;
  bytes.references = {{"System.Runtime", {10, 0, 0, 0}}, {"netstandard", {2, 1, 0, 0}}};
  const auto metadata = CliMetadata::Parse(bytes.Metadata());
  ASSERT_TRUE(metadata.ok()) << metadata.status();
  EXPECT_EQ(metadata->version, "v4.0.30319");
  EXPECT_TRUE(metadata->has_assembly);
  EXPECT_EQ(metadata->assembly.name, "Sample");
  EXPECT_EQ(metadata->assembly.version.ToString(), "1.2.3.4");
  EXPECT_EQ(metadata->references, bytes.references);
}

TEST(CliMetadata, AModuleHasNoName) {
  AssemblyBytes bytes;
  bytes.has_assembly = false;
  bytes.references = {};
  const auto metadata = CliMetadata::Parse(bytes.Metadata());
  ASSERT_TRUE(metadata.ok()) << metadata.status();
  EXPECT_FALSE(metadata->has_assembly);
  EXPECT_THAT(metadata->references, IsEmpty());
}

TEST(CliMetadata, RefusesEveryTruncation) {
  const std::string good = AssemblyBytes().Metadata();
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_EQ(CliMetadata::Parse(good.substr(0, length)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << length;
  }
}

TEST(CliMetadata, RefusesHostileLengths) {
  const std::string good = AssemblyBytes().Metadata();
  ExpectRefused(With<char>(good, 0, 'x'), "no signature");
  ExpectRefused(With<uint32_t>(good, kVersionLength, 0xffffffff), "version too long");
  ExpectRefused(With<uint32_t>(good, kFirstStream, 0xffffffff), "lies outside");
  ExpectRefused(With<uint32_t>(good, kFirstStream + 4, 0xffffffff), "lies outside");
  ExpectRefused(With<char>(good, kFirstStream + 9, 'x'), "no tables");
  // As many streams as a number can say.
  EXPECT_FALSE(CliMetadata::Parse(With<uint16_t>(good, kFirstStream - 2, 0xffff)).ok());
}

TEST(CliMetadata, RefusesHostileNumbersOfRows) {
  const std::string good = AssemblyBytes().Metadata();
  const size_t rows = kTables + 24;  // of Module, Assembly, AssemblyRef
  ExpectRefused(With<uint32_t>(good, rows, 0xffffffff), "it is damaged");
  ExpectRefused(With<uint32_t>(good, rows + 4, 2), "two assemblies");
  ExpectRefused(With<uint32_t>(good, rows + 8, 0xffffffff), "too many references");
  ExpectRefused(With<uint32_t>(good, rows + 8, 1000), "it is damaged");
  // All tables of the format are there, with numbers of rows that are names or rows.
  EXPECT_FALSE(CliMetadata::Parse(With<uint64_t>(good, kTables + 8, ~uint64_t{0})).ok());
}

TEST(CliMetadata, RefusesNamesOutsideOfTheirHeap) {
  AssemblyBytes bytes;
  bytes.name.name = std::string(1025, 'x');
  ExpectRefused(bytes.Metadata(), "has no end");
  bytes.name.name = std::string(1024, 'x');
  EXPECT_TRUE(CliMetadata::Parse(bytes.Metadata()).ok());
  const std::string good = AssemblyBytes().Metadata();
  const size_t name = kTables + 24 + 12 + 10 + 18;
  ExpectRefused(With<uint16_t>(good, name, 0xffff), "lies outside");
}

TEST(CliMetadata, SurvivesDamagedBytesAnywhere) {
  const std::string good = AssemblyBytes().Metadata();
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = good;
    for (int i = 0; i < 4; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (!CliMetadata::Parse(damaged).ok()) ++refused;
  }
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace cohost::supervisor
