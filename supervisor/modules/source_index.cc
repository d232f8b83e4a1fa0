// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/source_index.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/strings.h"

namespace cohost::supervisor {

namespace {

constexpr std::string_view kFirstLine = "cohost-sources 1";
constexpr size_t kFields = 8;

int64_t Nanoseconds(const struct timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool IsHash(absl::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// One word each, also where people read two.
absl::string_view WordOf(StoredKind kind) {
  return kind == StoredKind::kDataImage ? "image" : AsAbsl(StoredKindName(kind));
}

std::optional<StoredKind> ParseKind(absl::string_view text) {
  for (const StoredKind kind : kStoredKinds) {
    if (text == WordOf(kind)) return kind;
  }
  return std::nullopt;
}

// The source's path and its entry; nothing when the line is not one of ours.
std::optional<std::pair<std::string, SourceIndex::Entry>> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(line, absl::MaxSplits(' ', kFields - 1));
  if (fields.size() != kFields) return std::nullopt;
  SourceIndex::Entry entry;
  const auto kind = ParseKind(fields[1]);
  if (!IsHash(fields[0]) || !kind.has_value() ||
      !absl::SimpleAtoi(fields[2], &entry.stamp.device) ||
      !absl::SimpleAtoi(fields[3], &entry.stamp.inode) ||
      !absl::SimpleAtoi(fields[4], &entry.stamp.size) ||
      !absl::SimpleAtoi(fields[5], &entry.stamp.modified_ns) ||
      !absl::SimpleAtoi(fields[6], &entry.stamp.changed_ns) || fields[7].empty() ||
      fields[7][0] != '/') {
    return std::nullopt;
  }
  entry.hash = std::string(fields[0]);
  entry.kind = *kind;
  return std::make_pair(std::string(fields[7]), std::move(entry));
}

}  // namespace

FileStamp FileStamp::Of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<uint64_t>(status.st_size),
          .modified_ns = Nanoseconds(status.st_mtim),
          .changed_ns = Nanoseconds(status.st_ctim)};
}

SourceIndex SourceIndex::Parse(std::string_view text, size_t* skipped) {
  SourceIndex index;
  *skipped = 0;
  bool first = true;
  for (const absl::string_view line : absl::StrSplit(AsAbsl(text), '\n', absl::SkipEmpty())) {
    if (std::exchange(first, false)) {
      if (AsStd(line) == kFirstLine) continue;
      *skipped = 1;
      return index;
    }
    if (auto parsed = ParseLine(line)) {
      index.entries_.insert_or_assign(std::move(parsed->first), std::move(parsed->second));
    } else {
      ++*skipped;
    }
  }
  return index;
}

std::string SourceIndex::Format() const {
  std::string text = absl::StrCat(AsAbsl(kFirstLine), "\n");
  for (const auto& [source, entry] : entries_) {
    // Such a path is hashed again at each start.
    if (source.find('\n') != std::string::npos) continue;
    absl::StrAppend(&text, entry.hash, " ", WordOf(entry.kind), " ", entry.stamp.device, " ",
                    entry.stamp.inode, " ", entry.stamp.size, " ", entry.stamp.modified_ns, " ",
                    entry.stamp.changed_ns, " ");
    absl::StrAppend(&text, source, "\n");
  }
  return text;
}

std::optional<std::string> SourceIndex::Find(const std::string& source, StoredKind kind,
                                             const FileStamp& stamp) const {
  const auto it = entries_.find(source);
  if (it == entries_.end() || it->second.kind != kind || it->second.stamp != stamp) {
    return std::nullopt;
  }
  return it->second.hash;
}

bool SourceIndex::Remember(const std::string& source, Entry entry) {
  Entry& known = entries_[source];
  if (known == entry) return false;
  known = std::move(entry);
  return true;
}

std::map<std::string, std::string> SourceIndex::SourcesByHash() const {
  std::map<std::string, std::string> sources;
  for (const auto& [source, entry] : entries_) sources.emplace(entry.hash, source);
  return sources;
}

size_t SourceIndex::Retain(const std::function<bool(const std::string& hash)>& is_there) {
  return std::erase_if(entries_, [&](const auto& entry) { return !is_there(entry.second.hash); });
}

}  // namespace cohost::supervisor
