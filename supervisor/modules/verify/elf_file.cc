// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/elf_file.h"

#include <elf.h>

#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/modules/verify/elf_image.h"
#include "supervisor/modules/verify/elf_symbols.h"

namespace cohost::supervisor {

namespace {

absl::Status Wrong(std::string_view what) { return absl::InvalidArgumentError(AsAbsl(what)); }

// What the loader reads or calls before it can report anything.
absl::Status CheckTables(const ElfImage& image) {
  constexpr struct {
    int64_t address;
    int64_t length;
  } kTables[] = {
      {DT_STRTAB, DT_STRSZ}, {DT_INIT_ARRAY, DT_INIT_ARRAYSZ}, {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}};
  for (const auto& table : kTables) {
    if (!image.Dynamic(table.address).has_value()) continue;
    COHOST_RETURN_IF_ERROR(
        image.OffsetOf(*image.Dynamic(table.address), image.Dynamic(table.length).value_or(0))
            .status());
  }
  return absl::OkStatus();
}

absl::Status CheckFlags(const ElfImage& image) {
  if (image.HasFlag(DT_FLAGS_1, DF_1_PIE)) {
    return Wrong("it is a program, not a shared object; link it with -shared");
  }
  if (image.HasFlag(DT_FLAGS_1, DF_1_NOOPEN)) {
    return Wrong("it forbids dlopen; link it without -Wl,-z,nodlopen");
  }
  if (image.HasFlag(DT_FLAGS, DF_TEXTREL) || image.Dynamic(DT_TEXTREL).has_value()) {
    return Wrong("its code has relocations and cannot be shared; compile it with -fPIC");
  }
  // Where the header is missing, glibc takes the machine's default, which is executable on x86-64,
  // and makes the stacks of all threads so (since 2.41 it refuses the module).
  const Elf64_Phdr* stack = image.FindSegment(PT_GNU_STACK);
  if (stack == nullptr || (stack->p_flags & PF_X) != 0) {
    return Wrong(
        "it makes the stacks of all threads executable; link it with -Wl,-z,noexecstack, and give "
        "its assembler sources a section .note.GNU-stack");
  }
  return absl::OkStatus();
}

absl::Status CheckEntryPoint(const ElfImage& image, const ElfSymbols& symbols) {
  std::string others;
  for (const Elf64_Sym* symbol : symbols.FindFunctions(kModuleEntryPrefix)) {
    const std::string_view number =
        symbols.NameOf(*symbol).substr(std::string_view(kModuleEntryPrefix).size());
    uint32_t version = 0;
    // "01" and "+1" are other names.
    if (!absl::SimpleAtoi(AsAbsl(number), &version) || absl::StrCat(version) != AsAbsl(number)) {
      continue;
    }
    if (version != kModuleVersion) {
      if (others.size() < 100) absl::StrAppend(&others, others.empty() ? "" : ", ", version);
      continue;
    }
    const Elf64_Phdr* code = image.SegmentOf(symbol->st_value, 1);
    if (code == nullptr || (code->p_flags & PF_X) == 0) {
      return Wrong("its entry point lies outside of its code; it is damaged: build it again");
    }
    return absl::OkStatus();
  }
  const std::string name = absl::StrCat(kModuleEntryPrefix, kModuleVersion);
  if (!others.empty()) {
    return Wrong(absl::StrCat("it is built for version ", others,
                              " of the module interface, and this host has version ",
                              kModuleVersion,
                              "; build it with this host's cohost.h, or update "
                              "the host"));
  }
  return Wrong(absl::StrCat("it does not define the function ", name,
                            "; a module exports it as cohost.h says"));
}

std::vector<std::string> Warnings(const ElfImage& image, const ElfSymbols& symbols) {
  std::vector<std::string> warnings;
  if (image.HasFlag(DT_FLAGS, DF_STATIC_TLS)) {
    warnings.push_back(
        "it uses static thread-local storage, of which a process has little: build it without "
        "-ftls-model=initial-exec");
  }
  if (const Elf64_Sym* unique = symbols.FindUnique()) {
    warnings.push_back(
        absl::StrCat("it shares static variables of inline functions with other modules (",
                     PrintableText(symbols.NameOf(*unique)), "): build it with -fno-gnu-unique"));
  }
  return warnings;
}

}  // namespace

absl::StatusOr<ElfReport> CheckSharedObject(int fd, const LibrarySearch& search) {
  COHOST_ASSIGN_OR_RETURN(const ElfImage image, ElfImage::Read(fd));
  COHOST_RETURN_IF_ERROR(image.CheckWhole());
  COHOST_RETURN_IF_ERROR(CheckTables(image));
  COHOST_RETURN_IF_ERROR(CheckFlags(image));
  COHOST_ASSIGN_OR_RETURN(const ElfSymbols symbols, ElfSymbols::Read(image));
  COHOST_RETURN_IF_ERROR(CheckEntryPoint(image, symbols));
  ElfReport report;
  COHOST_ASSIGN_OR_RETURN(report.relocation_cost, MeasureRelocations(image, symbols));
  COHOST_RETURN_IF_ERROR(CheckNeededLibraries(image, search));
  report.warnings = Warnings(image, symbols);
  std::string advice = RelocationAdvice(report.relocation_cost);
  if (!advice.empty()) report.warnings.push_back(std::move(advice));
  return report;
}

}  // namespace cohost::supervisor
