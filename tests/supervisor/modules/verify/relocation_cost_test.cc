// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/relocation_cost.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/module_files.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kPointers = 1 << 16;

absl::StatusOr<RelocationCost> Measure(const std::string& content) {
  const UniqueFd fd = MemoryFile(content);
  const auto image = ElfImage::Read(fd.get());
  if (!image.ok()) return image.status();
  const auto symbols = ElfSymbols::Read(*image);
  if (!symbols.ok()) return symbols.status();
  if (absl::Status whole = image->CheckWhole(); !whole.ok()) return whole;
  return MeasureRelocations(*image, *symbols);
}

RelocationCost CostOf(const std::string& name) {
  const auto cost = Measure(ModuleContent(name));
  EXPECT_TRUE(cost.ok()) << cost.status();
  return cost.value_or(RelocationCost());
}

// Bytes of the file's mappings that this process has for itself.
uint64_t PrivateBytesOf(const std::string& name) {
  FILE* maps = std::fopen("/proc/self/smaps", "re");
  EXPECT_NE(maps, nullptr);
  uint64_t bytes = 0;
  bool inside = false;
  char line[4096];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    const std::string text = line;
    unsigned long long number = 0;  // NOLINT(google-runtime-int): of scanf
    if (std::sscanf(line, "%llx-", &number) == 1 && text.find(" r") != std::string::npos) {
      inside = text.find(name) != std::string::npos;
    } else if (inside && std::sscanf(line, "Anonymous: %llu kB", &number) == 1) {
      bytes += number << 10;
    }
  }
  (void)std::fclose(maps);
  return bytes;
}

TEST(RelocationCost, CountsWhatTheLoaderMakesPrivate) {
  for (const char* name : {"pointers.so", "pointers_own.so", "pointers_packed.so"}) {
    const uint64_t expected = CostOf(std::string("verify/") + name).private_bytes.count;
    const std::string path = std::string("tests/supervisor/modules/verify/") + name;
    ASSERT_EQ(PrivateBytesOf(name), 0u);
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << ::dlerror();
    const uint64_t measured = PrivateBytesOf(name);
    EXPECT_EQ(::dlclose(handle), 0);
    // Beside the relocations, at most .data and .bss are written by what runs at the start.
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    EXPECT_GE(measured, expected) << name;
    EXPECT_LE(measured, expected + 2 * page) << name;
    EXPECT_GE(expected, kPointers * sizeof(void*)) << name;
  }
}

TEST(RelocationCost, TellsSymbolsOfItsOwnFromPlainAddresses) {
  const RelocationCost replaceable = CostOf("verify/pointers.so");
  EXPECT_GE(replaceable.own_symbols, kPointers);
  EXPECT_GE(replaceable.count, replaceable.own_symbols);
  EXPECT_FALSE(replaceable.packed);
  const RelocationCost own = CostOf("verify/pointers_own.so");
  EXPECT_LT(own.own_symbols, 10u);
  EXPECT_GE(own.count, kPointers);
  EXPECT_GE(own.tables.count, kPointers * sizeof(Elf64_Rela));
}

TEST(RelocationCost, CountsPackedRelocationsLikeOthers) {
  const RelocationCost own = CostOf("verify/pointers_own.so");
  const RelocationCost packed = CostOf("verify/pointers_packed.so");
  EXPECT_TRUE(packed.packed);
  EXPECT_EQ(packed.count, own.count);
  EXPECT_LT(packed.tables.count, own.tables.count / 50);
}

TEST(RelocationCost, AdviceNamesTheFlagsThatAreMissing) {
  EXPECT_THAT(RelocationAdvice(CostOf("verify/pointers.so")),
              AllOf(HasSubstr("-fvisibility=hidden"), HasSubstr("-Wl,-Bsymbolic"),
                    HasSubstr("-Wl,-z,pack-relative-relocs"), HasSubstr(" MB of its own (of ")));
  EXPECT_THAT(RelocationAdvice(CostOf("verify/pointers_own.so")),
              AllOf(Not(HasSubstr("-Bsymbolic")), HasSubstr("-Wl,-z,pack-relative-relocs")));
  EXPECT_EQ(RelocationAdvice(CostOf("verify/pointers_packed.so")), "");
  EXPECT_EQ(RelocationAdvice(CostOf("plain_module.so")), "");
}

TEST(RelocationCost, AdviceIsForAShareThatIsWorthIt) {
  RelocationCost cost;
  cost.count = cost.own_symbols = 100'000;
  cost.tables = MiB(2);
  cost.loaded = MiB(100);
  cost.private_bytes = MiB(6);
  EXPECT_EQ(RelocationAdvice(cost), "");
  cost.private_bytes = MiB(7);
  EXPECT_NE(RelocationAdvice(cost), "");
  cost.loaded = KiB(200);
  cost.private_bytes = KiB(124);
  EXPECT_EQ(RelocationAdvice(cost), "");
}

TEST(RelocationCost, RefusesRelocationsOfCodeWhateverTheFlagsSay) {
  const std::string module = ModuleContent("verify/text_relocation.so");
  const auto cost = Measure(module);
  EXPECT_EQ(cost.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cost.status().message()), HasSubstr("-fPIC"));
}

TEST(RelocationCost, RefusesRelocationsOutsideOfTheObject) {
  const std::string good = ModuleContent("plain_module.so");
  const UniqueFd fd = MemoryFile(good);
  const auto image = ElfImage::Read(fd.get());
  ASSERT_TRUE(image.ok()) << image.status();
  const uint64_t table = *image->OffsetOf(*image->Dynamic(DT_RELA), sizeof(Elf64_Rela));
  for (const uint64_t target : {uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    const auto cost = Measure(With(good, table, target));
    EXPECT_EQ(cost.status().code(), absl::StatusCode::kInvalidArgument) << target;
  }
  const size_t size = DynamicAt(good, DT_RELASZ) + sizeof(int64_t);
  EXPECT_FALSE(Measure(With<uint64_t>(good, size, 1 << 30)).ok());
  EXPECT_FALSE(Measure(With<uint64_t>(good, size, ~uint64_t{0})).ok());
}

TEST(RelocationCost, RefusesPackedRelocationsOutsideOfTheObject) {
  const std::string good = ModuleContent("verify/pointers_packed.so");
  const UniqueFd fd = MemoryFile(good);
  const auto image = ElfImage::Read(fd.get());
  ASSERT_TRUE(image.ok()) << image.status();
  const uint64_t table = *image->OffsetOf(*image->Dynamic(36), 16);
  for (const uint64_t entry : {uint64_t{1} << 40, ~uint64_t{0} - 1, ~uint64_t{0}}) {
    EXPECT_FALSE(Measure(With(good, table, entry)).ok()) << entry;
  }
}

}  // namespace
}  // namespace cohost::supervisor
