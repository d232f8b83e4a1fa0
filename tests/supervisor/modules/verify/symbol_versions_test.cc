// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/symbol_versions.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/module_files.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

absl::StatusOr<std::vector<NeededVersion>> Needed(const std::string& content) {
  const UniqueFd fd = MemoryFile(content);
  const auto image = ElfImage::Read(fd.get());
  return image.ok() ? ReadNeededVersions(*image) : image.status();
}

absl::StatusOr<std::set<std::string>> Defined(const std::string& content) {
  const UniqueFd fd = MemoryFile(content);
  const auto image = ElfImage::Read(fd.get());
  return image.ok() ? ReadDefinedVersions(*image) : image.status();
}

std::string LibC() {
  const auto content = ReadFile("/lib/x86_64-linux-gnu/libc.so.6");
  return content.empty() ? ReadFile("/lib/aarch64-linux-gnu/libc.so.6") : content;
}

// Where the table at that address of the dynamic section lies in the file.
uint64_t TableAt(const std::string& content, int64_t tag) {
  const UniqueFd fd = MemoryFile(content);
  const auto image = ElfImage::Read(fd.get());
  return *image->OffsetOf(*image->Dynamic(tag), 16);
}

TEST(SymbolVersions, ReadsWhatAModuleNeedsAndTheLibraryDefines) {
  const auto needed = Needed(ModuleContent("verify/needs_libraries.so"));
  ASSERT_TRUE(needed.ok()) << needed.status();
  ASSERT_FALSE(needed->empty());
  const auto defined = Defined(LibC());
  ASSERT_TRUE(defined.ok()) << defined.status();
  EXPECT_THAT(*defined, Contains("GLIBC_PRIVATE"));
  for (const NeededVersion& version : *needed) {
    EXPECT_EQ(version.library, "libc.so.6");
    EXPECT_THAT(*defined, Contains(version.version));
  }
}

TEST(SymbolVersions, AnObjectWithoutTablesHasNone) {
  EXPECT_THAT(*Defined(ModuleContent("verify/needs_libraries.so")), IsEmpty());
}

TEST(SymbolVersions, WeakVersionsMayBeMissing) {
  const std::string good = ModuleContent("verify/needs_libraries.so");
  const uint64_t table = TableAt(good, DT_VERNEED);
  uint32_t aux = 0;
  std::memcpy(&aux, good.data() + table + offsetof(Elf64_Verneed, vn_aux), sizeof aux);
  const size_t before = Needed(good)->size();
  const auto needed =
      Needed(With<uint16_t>(good, table + aux + offsetof(Elf64_Vernaux, vna_flags), VER_FLG_WEAK));
  ASSERT_TRUE(needed.ok()) << needed.status();
  EXPECT_EQ(needed->size(), before - 1);
}

TEST(SymbolVersions, RefusesATableWithoutEnd) {
  // Entries of one byte's distance, of which each has the same first version: they run through
  // the file, and end where it does or at the bound.
  const std::string good = ModuleContent("verify/needs_libraries.so");
  std::string endless = good;
  const uint64_t table = TableAt(good, DT_VERNEED);
  uint32_t aux = 0;
  std::memcpy(&aux, good.data() + table + offsetof(Elf64_Verneed, vn_aux), sizeof aux);
  endless = With<uint32_t>(endless, table + aux + offsetof(Elf64_Vernaux, vna_next), 1);
  EXPECT_EQ(Needed(endless).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SymbolVersions, RefusesHostileTables) {
  const std::string good = ModuleContent("verify/needs_libraries.so");
  const uint64_t table = TableAt(good, DT_VERNEED);
  for (const size_t field : {offsetof(Elf64_Verneed, vn_file), offsetof(Elf64_Verneed, vn_aux),
                             offsetof(Elf64_Verneed, vn_next)}) {
    EXPECT_EQ(Needed(With<uint32_t>(good, table + field, 0xfffffff0)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << field;
  }
  uint32_t aux = 0;
  std::memcpy(&aux, good.data() + table + offsetof(Elf64_Verneed, vn_aux), sizeof aux);
  const size_t next = table + aux + offsetof(Elf64_Vernaux, vna_next);
  EXPECT_FALSE(Needed(With<uint32_t>(good, next, 1u << 31)).ok());
}

}  // namespace
}  // namespace cohost::supervisor
