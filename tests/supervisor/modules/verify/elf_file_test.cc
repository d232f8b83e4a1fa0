// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>

#include "base/system/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/module_files.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<std::vector<std::string>> Check(const std::string& content) {
  const UniqueFd fd(::memfd_create("module", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  return CheckSharedObject(fd.get(), "cohost_module_v1");
}

void ExpectRefused(const std::string& content, const std::string& why) {
  const absl::Status status = Check(content).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
  EXPECT_THAT(std::string(status.message()), HasSubstr(why));
}

template <typename Value>
std::string With(std::string content, size_t offset, Value value) {
  std::memcpy(content.data() + offset, &value, sizeof value);
  return content;
}

// Where the first program header of that type lies.
size_t SegmentAt(const std::string& content, uint32_t type) {
  Elf64_Ehdr header;
  std::memcpy(&header, content.data(), sizeof header);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    const size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    uint32_t found = 0;
    std::memcpy(&found, content.data() + at, sizeof found);
    if (found == type) return at;
  }
  ADD_FAILURE() << "no segment of type " << type;
  return 0;
}

TEST(CheckSharedObject, AcceptsAModuleWithoutWarnings) {
  const auto warnings = Check(ModuleContent("plain_module.so"));
  ASSERT_TRUE(warnings.ok()) << warnings.status();
  EXPECT_THAT(*warnings, IsEmpty());
}

TEST(CheckSharedObject, FindsTheEntryPointByEitherHashTable) {
  const auto warnings = Check(ModuleContent("verify/sysv_hash_module.so"));
  EXPECT_TRUE(warnings.ok()) << warnings.status();
}

TEST(CheckSharedObject, WarnsOfStaticThreadLocalStorage) {
  const auto warnings = Check(ModuleContent("static_tls_module.so"));
  ASSERT_TRUE(warnings.ok()) << warnings.status();
  EXPECT_THAT(*warnings, ElementsAre(HasSubstr("static thread-local storage")));
}

TEST(CheckSharedObject, WarnsOfVariablesThatModulesWouldShare) {
  const auto warnings = Check(ModuleContent("verify/unique_module.so"));
  ASSERT_TRUE(warnings.ok()) << warnings.status();
  EXPECT_THAT(*warnings, ElementsAre(HasSubstr("-fno-gnu-unique")));
}

TEST(CheckSharedObject, RefusesWhatDoesNotDefineTheEntryPoint) {
  ExpectRefused(ModuleContent("verify/other_library.so"),
                "it does not define the function cohost_module_v1");
}

TEST(CheckSharedObject, Mod01RefusesEveryTruncation) {
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

TEST(CheckSharedObject, Mod01RefusesRandomBytesTextAndOtherMachines) {
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

TEST(CheckSharedObject, RefusesHostileHeaders) {
  const std::string good = ModuleContent("plain_module.so");
  ExpectRefused(With<uint16_t>(good, offsetof(Elf64_Ehdr, e_phnum), 0xffff), "program headers");
  ExpectRefused(With<uint16_t>(good, offsetof(Elf64_Ehdr, e_phentsize), 8), "program headers");
  ExpectRefused(With<uint64_t>(good, offsetof(Elf64_Ehdr, e_phoff), ~0ull - 8), "it is cut");
  ExpectRefused(With<uint64_t>(good, offsetof(Elf64_Ehdr, e_shoff), ~0ull - 8), "section table");
  const size_t load = SegmentAt(good, PT_LOAD);
  ExpectRefused(With<uint64_t>(good, load + offsetof(Elf64_Phdr, p_offset), ~0ull - 8),
                "it is cut");
  ExpectRefused(With<uint64_t>(good, load + offsetof(Elf64_Phdr, p_filesz), ~0ull), "it is cut");
  ExpectRefused(With<uint64_t>(good, load + offsetof(Elf64_Phdr, p_memsz), 1ull << 60), "memory");
  ExpectRefused(With<uint64_t>(good, load + offsetof(Elf64_Phdr, p_vaddr), 1ull << 60), "memory");
  ExpectRefused(With<uint64_t>(good, load + offsetof(Elf64_Phdr, p_align), 3), "alignment");
  const size_t dynamic = SegmentAt(good, PT_DYNAMIC);
  ExpectRefused(With<uint64_t>(good, dynamic + offsetof(Elf64_Phdr, p_filesz), 16), "no end");
  ExpectRefused(With<uint32_t>(good, dynamic, PT_NULL), "nothing to load");
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
