// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/elf_image.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/module_files.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;

absl::Status Check(const std::string& content) {
  const UniqueFd fd = MemoryFile(content);
  const auto image = ElfImage::Read(fd.get());
  return image.ok() ? image->CheckWhole() : image.status();
}

void ExpectRefused(const std::string& content, const std::string& why) {
  const absl::Status status = Check(content);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
  EXPECT_THAT(std::string(status.message()), HasSubstr(why));
}

TEST(ElfImage, RefusesOtherMachinesByName) {
  const std::string good = ModuleContent("plain_module.so");
  EXPECT_TRUE(Check(good).ok()) << Check(good);
  ExpectRefused(With<uint16_t>(good, offsetof(Elf64_Ehdr, e_machine), EM_RISCV), "(RISC-V)");
  ExpectRefused(With<uint16_t>(good, offsetof(Elf64_Ehdr, e_machine), 4711), "(machine 4711)");
  ExpectRefused(With<char>(good, EI_CLASS, ELFCLASS32), "another machine");
  ExpectRefused(With<char>(good, EI_DATA, ELFDATA2MSB), "another machine");
  ExpectRefused(With<char>(good, EI_VERSION, 7), "another machine");
}

TEST(ElfImage, RefusesWhatIsNoSharedObject) {
  const std::string good = ModuleContent("plain_module.so");
  for (const uint16_t type : {ET_EXEC, ET_REL, ET_CORE, ET_NONE}) {
    ExpectRefused(With<uint16_t>(good, offsetof(Elf64_Ehdr, e_type), type), "no shared object");
  }
}

TEST(ElfImage, RefusesHostileHeaders) {
  const std::string good = ModuleContent("plain_module.so");
  ExpectRefused(With<uint16_t>(good, offsetof(Elf64_Ehdr, e_phnum), 0xffff), "program headers");
  ExpectRefused(With<uint16_t>(good, offsetof(Elf64_Ehdr, e_phnum), 0), "program headers");
  ExpectRefused(With<uint16_t>(good, offsetof(Elf64_Ehdr, e_phentsize), 8), "program headers");
  ExpectRefused(With<uint64_t>(good, offsetof(Elf64_Ehdr, e_phoff), ~0ull - 8), "it is cut");
  ExpectRefused(With<uint64_t>(good, offsetof(Elf64_Ehdr, e_shoff), ~0ull - 8), "section table");
}

TEST(ElfImage, RefusesHostileSegments) {
  const std::string good = ModuleContent("plain_module.so");
  const size_t load = SegmentAt(good, PT_LOAD);
  const auto with = [&](size_t field, uint64_t value) { return With(good, load + field, value); };
  ExpectRefused(with(offsetof(Elf64_Phdr, p_offset), ~0ull - 8), "it is cut");
  ExpectRefused(with(offsetof(Elf64_Phdr, p_filesz), ~0ull), "it is cut");
  ExpectRefused(with(offsetof(Elf64_Phdr, p_memsz), 1ull << 60), "memory");
  ExpectRefused(with(offsetof(Elf64_Phdr, p_vaddr), 1ull << 60), "memory");
  for (const uint64_t align : {0, 3, 8, 0x1800}) {
    ExpectRefused(with(offsetof(Elf64_Phdr, p_align), align), "alignment");
  }
}

TEST(ElfImage, RefusesAHostileDynamicTable) {
  const std::string good = ModuleContent("plain_module.so");
  const size_t dynamic = SegmentAt(good, PT_DYNAMIC);
  ExpectRefused(With<uint64_t>(good, dynamic + offsetof(Elf64_Phdr, p_filesz), 16), "no end");
  ExpectRefused(With<uint64_t>(good, dynamic + offsetof(Elf64_Phdr, p_filesz), 1ull << 32),
                "dynamic table");
  ExpectRefused(With<uint32_t>(good, dynamic, PT_NULL), "nothing to load");
}

TEST(ElfImage, TablesAndStringsLieInsideOfWhatIsLoaded) {
  const std::string good = ModuleContent("plain_module.so");
  const UniqueFd fd = MemoryFile(good);
  const auto image = ElfImage::Read(fd.get());
  ASSERT_TRUE(image.ok()) << image.status();
  const uint64_t strings = *image->Dynamic(DT_STRTAB);
  EXPECT_TRUE(image->ReadTable<char>(strings, 8).ok());
  for (const uint64_t address : {uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    EXPECT_FALSE(image->ReadTable<char>(address, 8).ok()) << address;
    EXPECT_FALSE(image->OffsetOf(address, 1).ok()) << address;
  }
  EXPECT_FALSE(image->ReadTable<char>(strings, ElfImage::kMostSymbols + 1).ok());
  EXPECT_FALSE(image->StringAt(*image->Dynamic(DT_STRSZ)).ok());
  EXPECT_FALSE(image->StringAt(~uint64_t{0}).ok());
  EXPECT_EQ(*image->StringAt(0), "");
}

TEST(ElfImage, RefusesAStringWithoutEnd) {
  const std::string good = ModuleContent("plain_module.so");
  // The table then ends inside of its second string.
  const UniqueFd fd =
      MemoryFile(With<uint64_t>(good, DynamicAt(good, DT_STRSZ) + sizeof(int64_t), 3));
  const auto image = ElfImage::Read(fd.get());
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->StringAt(1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ElfImage, TextsOfAFileArePrintableAndShort) {
  EXPECT_EQ(PrintableText("libc.so.6"), "libc.so.6");
  EXPECT_EQ(PrintableText(std::string("a\n\x1b\0z", 5)), "a\\n\\x1b\\x00z");
  EXPECT_EQ(PrintableText(std::string(5000, 'x')).size(), 200u);
}

}  // namespace
}  // namespace cohost::supervisor
