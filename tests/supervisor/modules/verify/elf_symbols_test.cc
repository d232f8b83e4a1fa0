// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/elf_symbols.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/module_files.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

absl::StatusOr<ElfSymbols> Read(const std::string& content) {
  const UniqueFd fd = MemoryFile(content);
  const auto image = ElfImage::Read(fd.get());
  if (!image.ok()) return image.status();
  return ElfSymbols::Read(*image);
}

TEST(ElfSymbols, FindsFunctionsByEitherHashTable) {
  for (const char* name : {"plain_module.so", "verify/sysv_hash_module.so"}) {
    const auto symbols = Read(ModuleContent(name));
    ASSERT_TRUE(symbols.ok()) << symbols.status();
    EXPECT_THAT(symbols->FindFunctions("cohost_module_v"), SizeIs(1)) << name;
    EXPECT_EQ(symbols->NameOf(*symbols->FindFunctions("cohost_")[0]), "cohost_module_v1");
    EXPECT_THAT(symbols->FindFunctions("cohost_module_v12"), IsEmpty());
  }
}

TEST(ElfSymbols, DoesNotTakeAUseForADefinition) {
  const auto symbols = Read(ModuleContent("verify/other_library.so"));
  ASSERT_TRUE(symbols.ok()) << symbols.status();
  EXPECT_THAT(symbols->FindFunctions("cohost_module_v1"), IsEmpty());
  EXPECT_THAT(symbols->FindFunctions("other"), SizeIs(1));
}

TEST(ElfSymbols, FindsUniqueSymbols) {
  const auto unique = Read(ModuleContent("verify/unique_module.so"));
  ASSERT_TRUE(unique.ok()) << unique.status();
  ASSERT_NE(unique->FindUnique(), nullptr);
  EXPECT_THAT(std::string(unique->NameOf(*unique->FindUnique())), HasSubstr("number"));
  const auto plain = Read(ModuleContent("plain_module.so"));
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->FindUnique(), nullptr);
}

TEST(ElfSymbols, NumbersOutsideOfTheTableAreNotDefined) {
  const auto symbols = Read(ModuleContent("plain_module.so"));
  ASSERT_TRUE(symbols.ok()) << symbols.status();
  EXPECT_FALSE(symbols->IsDefined(0));
  EXPECT_FALSE(symbols->IsDefined(symbols->size()));
  EXPECT_FALSE(symbols->IsDefined(~uint64_t{0}));
  Elf64_Sym nameless = {};
  nameless.st_name = 0xffffffff;
  EXPECT_EQ(symbols->NameOf(nameless), "");
}

TEST(ElfSymbols, RefusesHostileHashTables) {
  const std::string good = ModuleContent("verify/sysv_hash_module.so");
  const UniqueFd fd = MemoryFile(good);
  const auto image = ElfImage::Read(fd.get());
  ASSERT_TRUE(image.ok()) << image.status();
  const uint64_t at = *image->OffsetOf(*image->Dynamic(DT_HASH), 8);
  for (const uint32_t count : {0x7fffffffu, 0xffffffffu, uint32_t{ElfImage::kMostSymbols}}) {
    EXPECT_EQ(Read(With<uint32_t>(good, at + 4, count)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << count;
  }
  const std::string hashed = ModuleContent("plain_module.so");
  const UniqueFd hashed_fd = MemoryFile(hashed);
  const auto hashed_image = ElfImage::Read(hashed_fd.get());
  ASSERT_TRUE(hashed_image.ok()) << hashed_image.status();
  const uint64_t gnu = *hashed_image->OffsetOf(*hashed_image->Dynamic(DT_GNU_HASH), 16);
  for (const uint64_t field : {0, 8}) {  // buckets, words of the filter
    EXPECT_EQ(Read(With<uint32_t>(hashed, gnu + field, 0xffffffff)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << field;
  }
  EXPECT_EQ(Read(With<uint32_t>(hashed, gnu, 0)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ElfSymbols, RefusesAnObjectWithoutHashTable) {
  const std::string good = ModuleContent("verify/sysv_hash_module.so");
  const auto symbols = Read(With<int64_t>(good, DynamicAt(good, DT_HASH), 0x6ffffff0));
  EXPECT_EQ(symbols.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(symbols.status().message()), HasSubstr("hash table"));
}

}  // namespace
}  // namespace cohost::supervisor
