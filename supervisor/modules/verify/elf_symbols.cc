// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/elf_symbols.h"

#include <algorithm>

#include "base/status.h"

namespace cohost::supervisor {

namespace {

// Symbols up to the last one of the hash table: buckets hold the first symbol of their chain, a
// chain ends with an odd hash, and chains follow one another.
absl::StatusOr<size_t> CountByGnuHash(const ElfImage& image, uint64_t address) {
  COHOST_ASSIGN_OR_RETURN(const auto header, image.ReadTable<uint32_t>(address, 4));
  const uint32_t bucket_count = header[0];
  const uint32_t first_symbol = header[1];
  const uint64_t buckets_at = address + 16 + uint64_t{header[2]} * 8;
  COHOST_ASSIGN_OR_RETURN(const auto buckets, image.ReadTable<uint32_t>(buckets_at, bucket_count));
  // The loader divides by it.
  if (buckets.empty()) {
    return absl::InvalidArgumentError(
        "its symbol hash table is empty; it is damaged: copy or build it again");
  }
  uint64_t symbol = *std::max_element(buckets.begin(), buckets.end());
  if (symbol < first_symbol) return size_t{first_symbol};
  const uint64_t chains_at = buckets_at + uint64_t{bucket_count} * 4;
  while (symbol < ElfImage::kMostSymbols) {
    uint32_t hash = 0;
    COHOST_RETURN_IF_ERROR(
        image.ReadLoaded(chains_at + (symbol - first_symbol) * 4, &hash, sizeof hash));
    ++symbol;
    if ((hash & 1) != 0) return static_cast<size_t>(symbol);
  }
  return absl::InvalidArgumentError(
      "its symbol hash table has no end; it is damaged: copy or build it again");
}

absl::StatusOr<size_t> CountSymbols(const ElfImage& image) {
  if (const auto address = image.Dynamic(DT_GNU_HASH)) return CountByGnuHash(image, *address);
  if (const auto address = image.Dynamic(DT_HASH)) {
    COHOST_ASSIGN_OR_RETURN(const auto header, image.ReadTable<uint32_t>(*address, 2));
    return size_t{header[1]};
  }
  return absl::InvalidArgumentError(
      "it has no symbol hash table; link it with -Wl,--hash-style=gnu");
}

}  // namespace

absl::StatusOr<ElfSymbols> ElfSymbols::Read(const ElfImage& image) {
  if (!image.Dynamic(DT_STRTAB).has_value() || !image.Dynamic(DT_SYMTAB).has_value()) {
    return absl::InvalidArgumentError("it has no symbols; link it with -shared");
  }
  ElfSymbols symbols;
  COHOST_ASSIGN_OR_RETURN(const size_t count, CountSymbols(image));
  COHOST_ASSIGN_OR_RETURN(symbols.symbols_,
                          image.ReadTable<Elf64_Sym>(*image.Dynamic(DT_SYMTAB), count));
  COHOST_ASSIGN_OR_RETURN(symbols.strings_, image.ReadStrings());
  return symbols;
}

std::string_view ElfSymbols::NameOf(const Elf64_Sym& symbol) const {
  if (symbol.st_name >= strings_.size()) return {};
  const std::string_view rest = std::string_view(strings_).substr(symbol.st_name);
  const size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

std::vector<const Elf64_Sym*> ElfSymbols::FindFunctions(std::string_view prefix) const {
  std::vector<const Elf64_Sym*> found;
  for (const Elf64_Sym& symbol : symbols_) {
    const unsigned char binding = ELF64_ST_BIND(symbol.st_info);
    if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
        (binding == STB_GLOBAL || binding == STB_WEAK) && NameOf(symbol).starts_with(prefix)) {
      found.push_back(&symbol);
    }
  }
  return found;
}

const Elf64_Sym* ElfSymbols::FindUnique() const {
  const auto found = std::find_if(symbols_.begin(), symbols_.end(), [](const Elf64_Sym& symbol) {
    return symbol.st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) == STB_GNU_UNIQUE;
  });
  return found == symbols_.end() ? nullptr : &*found;
}

}  // namespace cohost::supervisor
