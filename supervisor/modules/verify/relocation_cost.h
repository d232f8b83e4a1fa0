// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/units.h"
#include "supervisor/modules/verify/elf_image.h"
#include "supervisor/modules/verify/elf_symbols.h"

namespace cohost::supervisor {

// What a shared object's relocations cost every process that maps it. The loader writes each of
// them when the object is loaded (RTLD_NOW), and a page that is written is a page of that process
// alone, whatever else lies in it.
struct RelocationCost {
  uint64_t count = 0;
  // Of them: to symbols that the object itself defines, but others could replace.
  uint64_t own_symbols = 0;
  Bytes private_bytes;  // whole pages that are written
  Bytes loaded;         // all that is loaded from the file
  Bytes tables;         // the tables of relocations, read by every process and shared
  bool packed = false;  // relative relocations are packed (DT_RELR)
  friend bool operator==(const RelocationCost&, const RelocationCost&) = default;
};

// Counts pages of this machine's size. The image is whole (CheckWhole). INVALID_ARGUMENT when a
// relocation would write what is not writable (code; the loader dies of it, or makes the code
// private) or not loaded.
absl::StatusOr<RelocationCost> MeasureRelocations(const ElfImage& image, const ElfSymbols& symbols);

// Names the flags that lower the cost; empty when it is small beside the object or no flag helps.
// With hidden symbols and -Bsymbolic nothing is looked up by name and the slots for it go; packing
// makes the tables a fiftieth. What tables of pointers in the source take, stays.
std::string RelocationAdvice(const RelocationCost& cost);

}  // namespace cohost::supervisor
