// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/precompile/precompile_cache.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "supervisor/modules/signing/content_hash.h"
#include "supervisor/modules/tree/relative_path.h"

namespace cohost::supervisor {

namespace {

constexpr char kFirstLine[] = "cohost-precompiled 1";

std::optional<PrecompileCache::Entry> ReadEntry(const std::vector<absl::string_view>& words) {
  if (words.size() == 2 && IsContentHash(AsStd(words[1]))) {
    return PrecompileCache::Entry{std::string(words[1]), ""};
  }
  if (words.size() != 3 || words[1] != "failed") return std::nullopt;
  auto reason = UnescapeWord(AsStd(words[2]));
  if (!reason.ok()) return std::nullopt;
  return PrecompileCache::Entry{"", *std::move(reason)};
}

}  // namespace

PrecompileCache PrecompileCache::Parse(std::string_view text) {
  PrecompileCache cache;
  bool first = true;
  for (const absl::string_view line : absl::StrSplit(AsAbsl(text), '\n', absl::SkipEmpty())) {
    if (std::exchange(first, false)) {
      if (line != kFirstLine) return cache;
      continue;
    }
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (!IsContentHash(AsStd(words[0])) || cache.entries_.size() >= kMostEntries) continue;
    if (auto entry = ReadEntry(words)) {
      cache.entries_.insert_or_assign(std::string(words[0]), *std::move(entry));
    }
  }
  return cache;
}

std::string PrecompileCache::Format() const {
  std::string text = absl::StrCat(kFirstLine, "\n");
  for (const auto& [key, entry] : entries_) {
    if (entry.stored_hash.empty()) {
      absl::StrAppend(&text, key, " failed ", EscapeWord(entry.reason), "\n");
    } else {
      absl::StrAppend(&text, key, " ", entry.stored_hash, "\n");
    }
  }
  return text;
}

std::string PrecompileCache::KeyOf(const DerivedRecord& record) {
  Sha256 hash;
  for (const std::string* part :
       {&record.source_hash, &record.compiler, &record.framework, &record.flags}) {
    hash.Update(*part);
    hash.Update("\n");
  }
  return HexDigest(hash.Finish());
}

std::optional<PrecompileCache::Entry> PrecompileCache::Find(const DerivedRecord& record) const {
  const auto entry = entries_.find(KeyOf(record));
  if (entry == entries_.end()) return std::nullopt;
  return entry->second;
}

void PrecompileCache::Remember(const DerivedRecord& record, Entry entry) {
  if (entries_.size() >= kMostEntries) entries_.clear();
  entries_.insert_or_assign(KeyOf(record), std::move(entry));
}

}  // namespace cohost::supervisor
