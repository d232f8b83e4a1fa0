// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/relocation_cost.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace cohost::supervisor {

namespace {

// By number: older headers do not name them.
constexpr int64_t kRelr = 36;
constexpr int64_t kRelrSize = 35;
// Of both machines that the store knows.
constexpr uint64_t kNone = 0;
constexpr uint64_t kWord = 8;
// Tables are read in parts of this many entries.
constexpr uint64_t kPart = 4096;
// Below it, nobody gains by building again: a small module has a few pages of them, and of a large
// one tables of pointers are a natural part.
constexpr uint64_t kLeastAdvised = uint64_t{128} << 10;
constexpr uint64_t kLeastShare = 16;
// A table of relocations packed by -z pack-relative-relocs shrinks from 24 bytes an entry to less
// than one; below this it is no more than a few pages.
constexpr uint64_t kLeastTables = uint64_t{64} << 10;

class Counter {
 public:
  Counter(const ElfImage& image, const ElfSymbols& symbols)
      : image_(image), symbols_(symbols), page_(static_cast<uint64_t>(::sysconf(_SC_PAGESIZE))) {
    uint64_t end = 0;
    for (const Elf64_Phdr& segment : image.segments()) {
      if (segment.p_type != PT_LOAD) continue;
      end = std::max(end, segment.p_vaddr + segment.p_memsz);
      cost_.loaded.count += segment.p_filesz;
    }
    written_.resize(end / page_ + 1);
  }

  absl::StatusOr<RelocationCost> Count() {
    COHOST_RETURN_IF_ERROR(CountEntries(DT_RELA, DT_RELASZ));
    COHOST_RETURN_IF_ERROR(CountEntries(DT_JMPREL, DT_PLTRELSZ));
    COHOST_RETURN_IF_ERROR(CountPacked());
    // glibc adds the load address to the entries of the dynamic table in place.
    const Elf64_Phdr* dynamic = image_.FindSegment(PT_DYNAMIC);
    const Elf64_Phdr* segment = image_.SegmentOf(dynamic->p_vaddr, dynamic->p_memsz);
    if (segment != nullptr && (segment->p_flags & PF_W) != 0 && dynamic->p_memsz > 0) {
      Touch(dynamic->p_vaddr, dynamic->p_memsz);
    }
    cost_.private_bytes.count =
        page_ * static_cast<uint64_t>(std::count(written_.begin(), written_.end(), true));
    return cost_;
  }

 private:
  // One relocation of the word at that address.
  absl::Status Write(uint64_t address) {
    const Elf64_Phdr* segment = image_.SegmentOf(address, kWord);
    if (segment == nullptr) {
      return absl::InvalidArgumentError(
          "a relocation lies outside of what is loaded; it is damaged: copy or build it again");
    }
    if ((segment->p_flags & PF_W) == 0) {
      return absl::InvalidArgumentError(
          "its code has relocations and cannot be shared; compile it with -fPIC");
    }
    ++cost_.count;
    Touch(address, kWord);
    return absl::OkStatus();
  }

  void Touch(uint64_t address, uint64_t length) {
    for (uint64_t page = address / page_; page <= (address + length - 1) / page_; ++page) {
      written_[page] = true;
    }
  }

  absl::Status CountEntries(int64_t table_tag, int64_t size_tag) {
    const uint64_t table = image_.Dynamic(table_tag).value_or(0);
    const uint64_t size = image_.Dynamic(size_tag).value_or(0);
    if (size == 0) return absl::OkStatus();
    COHOST_RETURN_IF_ERROR(image_.OffsetOf(table, size).status());
    cost_.tables.count += size;
    const uint64_t count = size / sizeof(Elf64_Rela);
    for (uint64_t i = 0; i < count; i += kPart) {
      COHOST_ASSIGN_OR_RETURN(
          const auto part,
          image_.ReadTable<Elf64_Rela>(table + i * sizeof(Elf64_Rela), std::min(kPart, count - i)));
      for (const Elf64_Rela& entry : part) {
        if (ELF64_R_TYPE(entry.r_info) == kNone) continue;
        COHOST_RETURN_IF_ERROR(Write(entry.r_offset));
        const uint64_t symbol = ELF64_R_SYM(entry.r_info);
        if (symbol != 0 && symbols_.IsDefined(symbol)) ++cost_.own_symbols;
      }
    }
    return absl::OkStatus();
  }

  // An even entry is the address of a word; an odd one has a bit for each of the 63 words after the
  // last one that was spoken of.
  absl::Status CountPacked() {
    const uint64_t table = image_.Dynamic(kRelr).value_or(0);
    const uint64_t size = image_.Dynamic(kRelrSize).value_or(0);
    if (size == 0) return absl::OkStatus();
    COHOST_RETURN_IF_ERROR(image_.OffsetOf(table, size).status());
    cost_.packed = true;
    cost_.tables.count += size;
    const uint64_t count = size / sizeof(uint64_t);
    uint64_t next = 0;
    for (uint64_t i = 0; i < count; i += kPart) {
      COHOST_ASSIGN_OR_RETURN(const auto part, image_.ReadTable<uint64_t>(
                                                   table + i * kWord, std::min(kPart, count - i)));
      for (const uint64_t entry : part) {
        if ((entry & 1) == 0) {
          COHOST_RETURN_IF_ERROR(Write(entry));
          next = entry + kWord;
          continue;
        }
        for (uint64_t bit = 1; bit < 64; ++bit) {
          if ((entry >> bit & 1) != 0) COHOST_RETURN_IF_ERROR(Write(next + (bit - 1) * kWord));
        }
        next += 63 * kWord;
      }
    }
    return absl::OkStatus();
  }

  const ElfImage& image_;
  const ElfSymbols& symbols_;
  const uint64_t page_;
  std::vector<bool> written_;
  RelocationCost cost_;
};

}  // namespace

absl::StatusOr<RelocationCost> MeasureRelocations(const ElfImage& image,
                                                  const ElfSymbols& symbols) {
  return Counter(image, symbols).Count();
}

std::string RelocationAdvice(const RelocationCost& cost) {
  if (cost.private_bytes.count < kLeastAdvised ||
      cost.private_bytes.count < cost.loaded.count / kLeastShare) {
    return "";
  }
  std::vector<std::string> link;
  std::string compile;
  if (cost.own_symbols > cost.count / kLeastShare) {
    compile = "compile it with -fvisibility=hidden, ";
    link.push_back("-Wl,-Bsymbolic");
  }
  if (!cost.packed && cost.tables.count >= kLeastTables) {
    link.push_back("-Wl,-z,pack-relative-relocs");
  }
  if (link.empty()) return "";
  return absl::StrCat("its relocations cost every worker ", FormatMegabytes(cost.private_bytes),
                      " of its own (of ", FormatMegabytes(cost.loaded), ") and tables of ",
                      FormatMegabytes(cost.tables), ": ", compile, "link it with ",
                      absl::StrJoin(link, " "));
}

}  // namespace cohost::supervisor
