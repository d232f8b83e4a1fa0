// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/cli_uses.h"

#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/verify/assembly_bytes.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const CliUses kWanted = {{"System.Environment.Exit", "System.AppDomain.GetAssemblies"},
                         {"Hosting.IHostedService"}};

AssemblyBytes Sample() {
  AssemblyBytes bytes;
  bytes.uses = {{"System", "Environment", "Exit"},
                {"System", "Environment", "GetEnvironmentVariable"},
                {"Hosting", "IHostedService", ""},
                {"", "Global", "Exit"}};
  return bytes;
}

TEST(CliUses, AreThoseThatAreWanted) {
  const auto uses = CliUses::Parse(Sample().Metadata(), kWanted);
  ASSERT_TRUE(uses.ok()) << uses.status();
  EXPECT_THAT(uses->members, ElementsAre("System.Environment.Exit"));
  EXPECT_THAT(uses->bases, ElementsAre("Hosting.IHostedService"));
}

TEST(CliUses, ATypeOfNoNamespaceHasItsNameAlone) {
  const auto uses = CliUses::Parse(Sample().Metadata(), {{"Global.Exit"}, {}});
  ASSERT_TRUE(uses.ok()) << uses.status();
  EXPECT_THAT(uses->members, ElementsAre("Global.Exit"));
}

TEST(CliUses, AnAssemblyWithoutTypesUsesNothing) {
  const auto uses = CliUses::Parse(AssemblyBytes().Metadata(), kWanted);
  ASSERT_TRUE(uses.ok()) << uses.status();
  EXPECT_THAT(uses->members, IsEmpty());
  EXPECT_THAT(uses->bases, IsEmpty());
}

TEST(CliUses, RefusesWhatLiesOutside) {
  const std::string good = Sample().Metadata();
  const size_t rows = 64 + 24;          // of the stream of tables: Module, TypeRef, TypeDef, ...
  const size_t types = rows + 24 + 10;  // behind the numbers of six tables and the module
  const size_t definitions = types + 4 * 6;
  const size_t members = definitions + 4 * 14;
  const auto refused = [](const std::string& metadata, const std::string& why) {
    const absl::Status status = CliUses::Parse(metadata, kWanted).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  };
  refused(With<uint32_t>(good, rows + 4, 0xffffffff), "it is damaged");
  refused(With<uint16_t>(good, types + 2, 0xffff), "lies outside");
  refused(With<uint16_t>(good, definitions + 8, 5 << 2 | 1), "a type that is not there");
  refused(With<uint16_t>(good, definitions + 8, 0 << 2 | 1), "a type that is not there");
  refused(With<uint16_t>(good, members, 5 << 3 | 1), "a type that is not there");
  refused(With<uint16_t>(good, members + 2, 0xffff), "lies outside");
}

TEST(CliUses, NoTruncationAndNoChangedByteReadsBehindTheEnd) {
  const std::string good = Sample().Metadata();
  for (size_t length = 0; length < good.size(); ++length) {
    // Under a sanitizer: whatever it says, it reads nothing else.
    (void)CliUses::Parse(good.substr(0, length), kWanted);
  }
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): the same every time
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = good;
    for (int change = 0; change < 3; ++change) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    (void)CliUses::Parse(changed, kWanted);
  }
}

}  // namespace
}  // namespace cohost::supervisor
