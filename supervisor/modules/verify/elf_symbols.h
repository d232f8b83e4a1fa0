// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/modules/verify/elf_image.h"

namespace cohost::supervisor {

// The dynamic symbols of a shared object: what it exports and what it takes from others. Errors as
// ElfImage. Immutable.
class ElfSymbols {
 public:
  static absl::StatusOr<ElfSymbols> Read(const ElfImage& image);

  size_t size() const { return symbols_.size(); }
  // Whether the object itself defines the symbol of that number (as in a relocation).
  bool IsDefined(uint64_t number) const {
    return number < symbols_.size() && symbols_[number].st_shndx != SHN_UNDEF;
  }
  const Elf64_Sym& at(size_t number) const { return symbols_[number]; }
  // Empty when it has no name that ends.
  std::string_view NameOf(const Elf64_Sym& symbol) const;
  // Functions that dlsym(3) finds and whose names begin so.
  std::vector<const Elf64_Sym*> FindFunctions(std::string_view prefix) const;
  // The first symbol that the loader shares among all objects of a process (STB_GNU_UNIQUE); null:
  // there is none.
  const Elf64_Sym* FindUnique() const;

 private:
  std::vector<Elf64_Sym> symbols_;
  std::string strings_;
};

}  // namespace cohost::supervisor
