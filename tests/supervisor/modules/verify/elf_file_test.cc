// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/elf_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/module_files.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<ElfReport> Check(const std::string& content) {
  return CheckSharedObject(MemoryFile(content).get());
}

void ExpectRefused(const std::string& content, const std::string& why) {
  const absl::Status status = Check(content).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
  EXPECT_THAT(std::string(status.message()), HasSubstr(why));
}

std::vector<std::string> WarningsOf(const std::string& name) {
  const auto report = Check(ModuleContent(name));
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? report->warnings : std::vector<std::string>();
}

TEST(CheckSharedObject, AcceptsAModuleWithoutWarnings) {
  EXPECT_THAT(WarningsOf("plain_module.so"), IsEmpty());
}

TEST(CheckSharedObject, AcceptsModulesAsTheyAreBuiltWithTheSdk) {
  for (const char* name : {"crash", "echo", "flock", "kids", "stream"}) {
    const auto report = Check(ReadFile(std::string("tests/services/") + name + ".so"));
    ASSERT_TRUE(report.ok()) << name << ": " << report.status();
    EXPECT_THAT(report->warnings, IsEmpty()) << name;
    EXPECT_GT(report->relocation_cost.private_bytes.count, 0u);
    EXPECT_LT(report->relocation_cost.private_bytes.count, uint64_t{256} << 10) << name;
  }
}

TEST(CheckSharedObject, FindsTheEntryPointByEitherHashTable) {
  EXPECT_THAT(WarningsOf("verify/sysv_hash_module.so"), IsEmpty());
}

TEST(CheckSharedObject, WarnsOfStaticThreadLocalStorage) {
  EXPECT_THAT(WarningsOf("static_tls_module.so"),
              ElementsAre(HasSubstr("static thread-local storage")));
}

TEST(CheckSharedObject, WarnsOfVariablesThatModulesWouldShare) {
  EXPECT_THAT(WarningsOf("verify/unique_module.so"),
              ElementsAre(AllOf(HasSubstr("-fno-gnu-unique"), HasSubstr("number"))));
}

TEST(CheckSharedObject, WarnsOfRelocationsThatFlagsWouldLower) {
  EXPECT_THAT(WarningsOf("verify/pointers.so"), ElementsAre(HasSubstr("-fvisibility=hidden")));
  const auto report = Check(ModuleContent("verify/pointers_packed.so"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->warnings, IsEmpty());
  EXPECT_GE(report->relocation_cost.private_bytes.count, uint64_t{512} << 10);
}

TEST(CheckSharedObject, RefusesWhatDoesNotDefineTheEntryPoint) {
  ExpectRefused(ModuleContent("verify/other_library.so"),
                "it does not define the function cohost_module_v1; a module exports it");
}

TEST(CheckSharedObject, RefusesOtherVersionsOfTheInterfaceNamingBoth) {
  const absl::Status status = Check(ModuleContent("verify/other_versions.so")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  EXPECT_THAT(message, AllOf(HasSubstr("built for version "), HasSubstr("this host has version 1"),
                             HasSubstr("build it with this host's cohost.h")));
  EXPECT_TRUE(message.find("version 9, 12 of") != std::string::npos ||
              message.find("version 12, 9 of") != std::string::npos)
      << message;
}

TEST(CheckSharedObject, RefusesAnEntryPointOutsideOfTheCode) {
  const std::string good = ModuleContent("plain_module.so");
  const UniqueFd fd = MemoryFile(good);
  const auto image = ElfImage::Read(fd.get());
  ASSERT_TRUE(image.ok()) << image.status();
  const auto symbols = ElfSymbols::Read(*image);
  ASSERT_TRUE(symbols.ok()) << symbols.status();
  const Elf64_Sym* entry = symbols->FindFunctions("cohost_module_v1").at(0);
  const auto number = static_cast<size_t>(entry - &symbols->at(0));
  const uint64_t table = *image->OffsetOf(*image->Dynamic(DT_SYMTAB), sizeof(Elf64_Sym));
  const size_t value = table + number * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_value);
  for (const uint64_t address :
       {image->FindSegment(PT_DYNAMIC)->p_vaddr, uint64_t{1} << 40, ~uint64_t{0}}) {
    ExpectRefused(With(good, value, address), "entry point lies outside of its code");
  }
}

TEST(CheckSharedObject, RefusesRelocationsOfCode) {
  const std::string module = ModuleContent("verify/text_relocation.so");
  ExpectRefused(module, "its code has relocations and cannot be shared; compile it with -fPIC");
  // Without the flags the loader would write to memory that is not writable.
  std::string silent = With<int64_t>(module, DynamicAt(module, DT_TEXTREL), 0x6ffffff0);
  silent = With<uint64_t>(silent, DynamicAt(silent, DT_FLAGS) + sizeof(int64_t), 0);
  ExpectRefused(silent, "its code has relocations and cannot be shared");
}

TEST(CheckSharedObject, RefusesAnExecutableStack) {
  ExpectRefused(ModuleContent("verify/executable_stack.so"), "-Wl,-z,noexecstack");
  const std::string good = ModuleContent("plain_module.so");
  ExpectRefused(With<uint32_t>(good, SegmentAt(good, PT_GNU_STACK), PT_NULL),
                "the stacks of all threads executable");
}

TEST(CheckSharedObject, RefusesWhatForbidsDlopen) {
  ExpectRefused(ModuleContent("verify/no_dlopen.so"), "-Wl,-z,nodlopen");
}

TEST(CheckSharedObject, RefusesMissingLibraries) {
  const std::string module = ModuleContent("plain_module.so");
  ExpectRefused(Replaced(module, "libc.so.6", "libx.so.9"), "it needs the library libx.so.9");
}

TEST(CheckSharedObject, MOD_01_RefusesEveryTruncation) {
  const std::string good = ModuleContent("plain_module.so");
  for (const size_t length : {size_t{0}, size_t{64}, size_t{512}, size_t{2000}, size_t{4096},
                              good.size() / 2, good.size() - 1}) {
    EXPECT_EQ(Check(good.substr(0, length)).status().code(), absl::StatusCode::kInvalidArgument)
        << length;
  }
  for (size_t length = 0; length < good.size(); length += 61) {
    EXPECT_EQ(Check(good.substr(0, length)).status().code(), absl::StatusCode::kInvalidArgument)
        << length;
  }
}

TEST(CheckSharedObject, MOD_01_RefusesRandomBytesTextAndOtherMachines) {
  const std::string good = ModuleContent("plain_module.so");
  std::mt19937 random(1);
  std::string noise(100'000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  ExpectRefused(noise, "it is not an ELF file");
  ExpectRefused(std::string(1 << 20, '\0'), "it is not an ELF file");
  ExpectRefused("#!/bin/sh\necho this is a text, and long enough for a whole ELF header\n",
                "it is not an ELF file");
  ExpectRefused(With<uint16_t>(good, offsetof(Elf64_Ehdr, e_machine), EM_RISCV), "another machine");
  ExpectRefused(With<char>(good, EI_CLASS, ELFCLASS32), "another machine");
  ExpectRefused(With<char>(good, EI_DATA, ELFDATA2MSB), "another machine");
  ExpectRefused(With<uint16_t>(good, offsetof(Elf64_Ehdr, e_type), ET_EXEC), "no shared object");
  ExpectRefused(With<uint16_t>(good, offsetof(Elf64_Ehdr, e_type), ET_REL), "no shared object");
}

TEST(CheckSharedObject, RefusesAProgram) {
  ExpectRefused(ReadFile("/bin/true"), "it is a program, not a shared object");
}

TEST(CheckSharedObject, MOD_01_RefusesAFifoWithoutWaiting) {
  const TestFolder folder;
  const std::string path = folder.path() + "/fifo.so";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(fd.valid());
  EXPECT_EQ(CheckSharedObject(fd.get()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CheckSharedObject, MOD_01_RefusesSparseFiles) {
  const UniqueFd empty = MemoryFile("");
  ASSERT_EQ(::ftruncate(empty.get(), off_t{1} << 40), 0);
  EXPECT_EQ(CheckSharedObject(empty.get()).status().code(), absl::StatusCode::kInvalidArgument);
  const UniqueFd longer = MemoryFile(ModuleContent("plain_module.so"));
  ASSERT_EQ(::ftruncate(longer.get(), off_t{1} << 40), 0);
  const absl::Status status = CheckSharedObject(longer.get()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("bytes behind its end"));
}

// Under the address sanitizer a wrong read ends the test; without, an endless loop would.
TEST(CheckSharedObject, SurvivesDamagedBytesAnywhere) {
  const std::string good = ModuleContent("plain_module.so");
  std::mt19937 random(2);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = good;
    // Most of what is read lies at the beginning.
    const size_t range = round % 2 == 0 ? 2048 : damaged.size();
    for (int i = 0; i < 8; ++i) damaged[random() % range] = static_cast<char>(random());
    if (!Check(damaged).ok()) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace cohost::supervisor
