// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/ready_to_run.h"

#include "gtest/gtest.h"
#include "tests/supervisor/modules/verify/assembly_bytes.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

// Reads the header that the CLI header names.
absl::StatusOr<ReadyToRunHeader> Read(const std::string& content) {
  PeRange range;
  std::memcpy(&range, content.data() + AssemblyBytes::kCliHeader + 64, sizeof range);
  const UniqueFd fd = MemoryFile(content);
  const auto file = PeFile::Read(fd.get());
  if (!file.ok()) return file.status();
  return ReadyToRunHeader::Read(*file, range);
}

// Where the header lies: it is the last part of the file.
size_t HeaderAt(const AssemblyBytes& bytes) {
  return bytes.Build().size() - 16 - 12 * bytes.ready_to_run_sections.size();
}

TEST(ReadyToRunHeader, ReadsVersionAndFlags) {
  const auto header = Read(AssemblyBytes::ReadyToRun().Build());
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->major, 16);
  EXPECT_EQ(header->minor, 0);
  EXPECT_EQ(header->flags, 0x4bu);
  EXPECT_FALSE(header->is_composite);
}

TEST(ReadyToRunHeader, KnowsCompositeImagesByFlagAndBySections) {
  AssemblyBytes bytes = AssemblyBytes::ReadyToRun();
  bytes.ready_to_run_flags |= ReadyToRunHeader::kComponent;
  EXPECT_TRUE(Read(bytes.Build())->is_composite);
  for (const uint32_t type :
       {ReadyToRunHeader::kComponentAssemblies, ReadyToRunHeader::kOwnerComposite}) {
    bytes = AssemblyBytes::ReadyToRun();
    bytes.ready_to_run_sections.emplace_back(type, AssemblyBytes::kSectionAddress);
    EXPECT_TRUE(Read(bytes.Build())->is_composite) << type;
  }
}

TEST(ReadyToRunHeader, RefusesOtherNativeHeaders) {
  const AssemblyBytes bytes = AssemblyBytes::ReadyToRun();
  EXPECT_EQ(Read(With<uint32_t>(bytes.Build(), HeaderAt(bytes), 17)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ReadyToRunHeader, RefusesHostileSections) {
  AssemblyBytes bytes = AssemblyBytes::ReadyToRun();
  const size_t header = HeaderAt(bytes);
  for (const uint32_t count : {2u, 1024u, 1025u, 0xffffffffu}) {
    EXPECT_FALSE(Read(With(bytes.Build(), header + 12, count)).ok()) << count;
  }
  EXPECT_TRUE(Read(With<uint32_t>(bytes.Build(), header + 12, 0)).ok());
  for (const uint32_t address : {0u, 0x10000u, 0xffffffffu}) {
    EXPECT_FALSE(Read(With(bytes.Build(), header + 20, address)).ok()) << address;
  }
  EXPECT_FALSE(Read(With<uint32_t>(bytes.Build(), header + 24, 0xffffffff)).ok());
}

TEST(ReadyToRunHeader, RefusesAHeaderThatIsTooShort) {
  const std::string content = AssemblyBytes::ReadyToRun().Build();
  for (const uint32_t size : {0u, 15u}) {
    EXPECT_FALSE(Read(With(content, AssemblyBytes::kCliHeader + 68, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace cohost::supervisor
