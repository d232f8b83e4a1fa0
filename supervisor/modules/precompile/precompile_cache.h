// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "supervisor/modules/signing/derived_record.h"

namespace cohost::supervisor {

// Which stored image was made of which source, by the same compiler, framework and flags; and which
// sources that compiler cannot compile. A cache that may be lost or wrong: an image is only used
// when the store has it and its DerivedRecord says the same.
//
// As text, one line each; a line that does not read exactly so is skipped, another first line makes
// it empty:
//   cohost-precompiled 1
//   <key> <stored hash>
//   <key> failed <reason, as EscapeWord writes it>
// The key is the SHA-256 of source hash, compiler, framework and flags, a line each. What the
// assembly was compiled against beside the framework is no part of it: other assemblies are outside
// of its version bubble, so their code is not compiled into it, and what the compiler assumes of
// their types is checked by the runtime when it is loaded. One thread at a time.
class PrecompileCache {
 public:
  struct Entry {
    std::string stored_hash;  // empty: it failed
    std::string reason;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  // More are forgotten all at once: they cost a compilation each.
  static constexpr size_t kMostEntries = 100'000;

  static PrecompileCache Parse(std::string_view text);
  std::string Format() const;

  // `record` without its stored hash says what is asked for.
  std::optional<Entry> Find(const DerivedRecord& record) const;
  void Remember(const DerivedRecord& record, Entry entry);

  static std::string KeyOf(const DerivedRecord& record);

 private:
  std::map<std::string, Entry> entries_;
};

}  // namespace cohost::supervisor
