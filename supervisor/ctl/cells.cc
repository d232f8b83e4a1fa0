// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/cells.h"

#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "base/units.h"
#include "supervisor/ctl/quantity.h"

namespace cohost::supervisor {

Cell CountCell(uint64_t count, Tone tone) { return {FormatCount(count), tone}; }

Cell BytesCell(uint64_t bytes) {
  return bytes == 0 ? Cell("-", Tone::kFaint) : Cell(FormatMegabytes(Bytes{bytes}));
}

Cell MegabytesCell(uint64_t bytes) {
  return {FormatMegabytes(Bytes{bytes}), bytes == 0 ? Tone::kFaint : Tone::kPlain};
}

std::string SlotName(const std::string& group, uint32_t slot) {
  return absl::StrCat(group, "/", slot);
}

std::string Plural(uint64_t count, std::string_view word) {
  return absl::StrCat(FormatCount(count), " ", AsAbsl(word), count == 1 ? "" : "s");
}

std::string ShortHash(const std::string& hash) { return hash.substr(0, 12); }

}  // namespace cohost::supervisor
