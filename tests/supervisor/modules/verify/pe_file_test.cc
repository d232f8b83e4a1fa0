// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/pe_file.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/verify/assembly_bytes.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;

constexpr size_t kSectionHeader32 = AssemblyBytes::kOptionalHeader + 96 + 16 * 8;

void ExpectRefused(const std::string& content, const std::string& why) {
  const UniqueFd fd = MemoryFile(content);
  const absl::Status status = PeFile::Read(fd.get()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
  EXPECT_THAT(std::string(status.message()), HasSubstr(why));
}

TEST(PeFile, ReadsHeadersOfBothSizes) {
  for (const bool is_64_bit : {false, true}) {
    AssemblyBytes bytes;
    bytes.is_64_bit = is_64_bit;
    bytes.machine = kPeArm64;
    const UniqueFd fd = MemoryFile(bytes.Build());
    const auto file = PeFile::Read(fd.get());
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->machine(), kPeArm64);
    EXPECT_EQ(file->format(), is_64_bit ? PeFile::Format::kPe32Plus : PeFile::Format::kPe32);
    EXPECT_EQ(file->directory(PeFile::kCliDirectory).address, AssemblyBytes::kSectionAddress);
    EXPECT_EQ(file->directory(PeFile::kCliDirectory).size, 72u);
    EXPECT_EQ(file->directory(1).address, 0u);
    EXPECT_EQ(file->directory(99).address, 0u);
    EXPECT_EQ(*file->ReadRange(PeRange{AssemblyBytes::kSectionAddress, 4}),
              std::string("\x48\0\0\0", 4));
  }
}

TEST(PeFile, RefusesWhatIsNone) {
  ExpectRefused("", "too short");
  ExpectRefused(std::string(4096, 'x'), "it is not a PE file");
  ExpectRefused(With<char>(AssemblyBytes().Build(), AssemblyBytes::kPeHeader, 'N'),
                "it is not a PE file");
}

TEST(PeFile, RefusesEveryTruncation) {
  const std::string good = AssemblyBytes().Build();
  for (size_t length = 0; length < good.size(); ++length) {
    const UniqueFd fd = MemoryFile(good.substr(0, length));
    EXPECT_EQ(PeFile::Read(fd.get()).status().code(), absl::StatusCode::kInvalidArgument) << length;
  }
}

TEST(PeFile, RefusesHostileHeaders) {
  const std::string good = AssemblyBytes().Build();
  ExpectRefused(With<uint32_t>(good, 60, 0xffffffff), "it is cut");
  ExpectRefused(With<uint16_t>(good, AssemblyBytes::kPeHeader + 6, 0), "number of sections");
  ExpectRefused(With<uint16_t>(good, AssemblyBytes::kPeHeader + 6, 0xffff), "number of sections");
  ExpectRefused(With<uint16_t>(good, AssemblyBytes::kPeHeader + 20, 0), "optional header");
  ExpectRefused(With<uint16_t>(good, AssemblyBytes::kPeHeader + 20, 90), "optional header");
  ExpectRefused(With<uint16_t>(good, AssemblyBytes::kPeHeader + 20, 0xffff), "it is cut");
  ExpectRefused(With<uint16_t>(good, AssemblyBytes::kOptionalHeader, 0x107), "optional header");
}

TEST(PeFile, RefusesHostileSections) {
  const std::string good = AssemblyBytes().Build();
  ExpectRefused(With<uint32_t>(good, kSectionHeader32 + 16, 0xffffffff), "section 1 ends at byte");
  ExpectRefused(With<uint32_t>(good, kSectionHeader32 + 20, 0xffffffff), "section 1 ends at byte");
  // A second section at the place of the first.
  std::string twice = With<uint16_t>(good, AssemblyBytes::kPeHeader + 6, 2);
  twice.replace(kSectionHeader32 + 40, 40, twice.substr(kSectionHeader32, 40));
  ExpectRefused(twice, "overlap");
}

TEST(PeFile, ReadsNothingOutsideOfASection) {
  const std::string content = AssemblyBytes().Build();
  const UniqueFd fd = MemoryFile(content);
  const auto file = PeFile::Read(fd.get());
  ASSERT_TRUE(file.ok()) << file.status();
  const auto size = static_cast<uint32_t>(content.size() - AssemblyBytes::kSectionOffset);
  constexpr uint32_t kStart = AssemblyBytes::kSectionAddress;
  EXPECT_TRUE(file->Has({kStart, size}));
  EXPECT_FALSE(file->Has({kStart, size + 1}));
  EXPECT_FALSE(file->Has({kStart - 1, 1}));
  EXPECT_FALSE(file->Has({0, 1}));
  EXPECT_FALSE(file->Has({0xffffffff, 0xffffffff}));
  EXPECT_EQ(file->ReadRange(PeRange{kStart, 0xffffffff}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cohost::supervisor
