// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/tree_manifest.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/modules/signing/content_hash.h"
#include "supervisor/modules/tree/relative_path.h"

namespace cohost::supervisor {

namespace {

constexpr std::string_view kFirstLine = "cohost-tree 1";

using Words = std::vector<absl::string_view>;

// The words of the format; not StoredKindName, which may be worded otherwise one day.
constexpr std::pair<StoredKind, std::string_view> kKinds[] = {
    {StoredKind::kModule, "module"},     {StoredKind::kDataImage, "image"},
    {StoredKind::kAssembly, "assembly"}, {StoredKind::kFile, "file"},
    {StoredKind::kProgram, "program"},
};
constexpr std::pair<TreeEntry::Type, std::string_view> kTypes[] = {
    {TreeEntry::Type::kFile, "file"},
    {TreeEntry::Type::kFolder, "folder"},
    {TreeEntry::Type::kLink, "link"},
    {TreeEntry::Type::kDataFile, "data-file"},
    {TreeEntry::Type::kDataFolder, "data-folder"},
};
constexpr std::pair<Placing, std::string_view> kPlacings[] = {{Placing::kLink, "link"},
                                                              {Placing::kCopy, "copy"}};
constexpr std::pair<mode_t, std::string_view> kModes[] = {{0444, "444"}, {0555, "555"}};

template <typename Value, size_t n>
std::string_view WordOf(const std::pair<Value, std::string_view> (&table)[n], Value value) {
  for (const auto& [each, word] : table) {
    if (each == value) return word;
  }
  return "?";
}

template <typename Value, size_t n>
bool ReadWord(const std::pair<Value, std::string_view> (&table)[n], absl::string_view text,
              Value* value) {
  for (const auto& [each, word] : table) {
    if (word != AsStd(text)) continue;
    *value = each;
    return true;
  }
  return false;
}

absl::Status Wrong(std::string_view path, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("tree entry '", EscapeWord(path), "': ", AsAbsl(why)));
}

bool IsMode(mode_t mode) { return mode == 0444 || mode == 0555; }

absl::Status CheckEntry(const TreeEntry& entry) {
  COHOST_RETURN_IF_ERROR(CheckRelativePath(entry.path));
  if (entry.type == TreeEntry::Type::kLink) return CheckLinkTarget(entry.path, entry.target);
  if (entry.type != TreeEntry::Type::kFile) return absl::OkStatus();
  if (!IsMode(entry.mode)) return Wrong(entry.path, "its mode is neither 444 nor 555");
  if (!IsContentHash(entry.source_hash) || !IsContentHash(entry.stored_hash)) {
    return Wrong(entry.path, "a hash of it is no SHA-256");
  }
  return absl::OkStatus();
}

absl::Status CheckSeed(const TreeSeed& seed) {
  COHOST_RETURN_IF_ERROR(CheckRelativePath(seed.path));
  if (seed.is_folder) return absl::OkStatus();
  if (!IsMode(seed.mode)) return Wrong(seed.path, "its mode is neither 444 nor 555");
  if (!IsContentHash(seed.hash)) return Wrong(seed.path, "its hash is no SHA-256");
  return absl::OkStatus();
}

// The folders of `path` from the top, without the path itself: "a", "a/b" of "a/b/c".
template <typename Visit>
void VisitFolders(std::string_view path, Visit visit) {
  for (size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    visit(path.substr(0, slash));
  }
}

// Every path once, none below another. Sorted lists.
template <typename Item>
absl::Status CheckApart(const std::vector<Item>& items) {
  std::set<std::string_view> paths;
  for (const Item& item : items) {
    if (!paths.insert(item.path).second) return Wrong(item.path, "it is there twice");
  }
  for (const Item& item : items) {
    absl::Status status;
    VisitFolders(item.path, [&](std::string_view folder) {
      if (paths.contains(folder)) {
        status = Wrong(item.path, absl::StrCat("it is below '", EscapeWord(folder),
                                               "', which has an entry of its own"));
      }
    });
    COHOST_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status CheckSeedsHaveAPlace(const TreeManifest& manifest) {
  for (const TreeSeed& seed : manifest.seeds()) {
    const TreeEntry* own = manifest.Find(seed.path);
    bool placed = own != nullptr && !seed.is_folder && own->type == TreeEntry::Type::kDataFile;
    VisitFolders(seed.path, [&](std::string_view folder) {
      const TreeEntry* entry = manifest.Find(folder);
      placed = placed || (entry != nullptr && entry->type == TreeEntry::Type::kDataFolder);
    });
    if (!placed) return Wrong(seed.path, "it is a seed that is not in the data folder");
  }
  return absl::OkStatus();
}

bool ReadSize(absl::string_view word, Bytes* size) {
  // SimpleAtoi takes signs, spaces and leading zeros.
  return absl::SimpleAtoi(word, &size->count) && absl::StrCat(size->count) == word;
}

std::optional<TreeEntry> ReadEntry(const Words& words) {
  TreeEntry entry;
  if (words.size() < 2 || !ReadWord(kTypes, words[0], &entry.type)) return std::nullopt;
  const auto path = UnescapeWord(AsStd(words[1]));
  if (!path.ok()) return std::nullopt;
  entry.path = *path;
  if (entry.type == TreeEntry::Type::kLink) {
    if (words.size() != 3) return std::nullopt;
    const auto target = UnescapeWord(AsStd(words[2]));
    if (!target.ok()) return std::nullopt;
    entry.target = *target;
    return entry;
  }
  if (entry.type != TreeEntry::Type::kFile) {
    if (words.size() != 2) return std::nullopt;
    return entry;
  }
  if (words.size() != 8 || !ReadWord(kModes, words[2], &entry.mode) ||
      !ReadWord(kKinds, words[3], &entry.kind) || !ReadWord(kPlacings, words[4], &entry.placing) ||
      !ReadSize(words[5], &entry.size)) {
    return std::nullopt;
  }
  entry.source_hash = std::string(words[6]);
  entry.stored_hash = std::string(words[7]);
  return entry;
}

std::optional<TreeSeed> ReadSeed(const Words& words) {
  TreeSeed seed;
  if (words.size() < 2) return std::nullopt;
  const auto path = UnescapeWord(AsStd(words[1]));
  if (!path.ok()) return std::nullopt;
  seed.path = *path;
  if (words[0] == "seed-folder" && words.size() == 2) {
    seed.is_folder = true;
    return seed;
  }
  if (words[0] != "seed" || words.size() != 5 || !ReadWord(kModes, words[2], &seed.mode) ||
      !ReadSize(words[3], &seed.size)) {
    return std::nullopt;
  }
  seed.hash = std::string(words[4]);
  return seed;
}

void AppendEntry(const TreeEntry& entry, std::string& text) {
  absl::StrAppend(&text, AsAbsl(WordOf(kTypes, entry.type)), " ", EscapeWord(entry.path));
  if (entry.type == TreeEntry::Type::kLink) absl::StrAppend(&text, " ", EscapeWord(entry.target));
  if (entry.type == TreeEntry::Type::kFile) {
    absl::StrAppend(&text, " ", AsAbsl(WordOf(kModes, entry.mode)), " ",
                    AsAbsl(WordOf(kKinds, entry.kind)), " ",
                    AsAbsl(WordOf(kPlacings, entry.placing)), " ", entry.size.count);
    absl::StrAppend(&text, " ", entry.source_hash, " ", entry.stored_hash);
  }
  text += '\n';
}

void AppendSeed(const TreeSeed& seed, std::string& text) {
  absl::StrAppend(&text, seed.is_folder ? "seed-folder " : "seed ", EscapeWord(seed.path));
  if (!seed.is_folder) {
    absl::StrAppend(&text, " ", AsAbsl(WordOf(kModes, seed.mode)), " ", seed.size.count, " ",
                    seed.hash);
  }
  text += '\n';
}

std::string IdOf(std::string_view text) {
  Sha256 hash;
  hash.Update(text);
  return HexDigest(hash.Finish());
}

absl::Status CheckCount(size_t count) {
  if (count <= kMaxTreeEntries) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("a tree of more than ", kMaxTreeEntries, " entries"));
}

template <typename Item>
void SortByPath(std::vector<Item>& items) {
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return a.path < b.path; });
}

template <typename Item>
bool IsSortedByPath(const std::vector<Item>& items) {
  return std::is_sorted(items.begin(), items.end(),
                        [](const Item& a, const Item& b) { return a.path < b.path; });
}

}  // namespace

TreeManifest::TreeManifest() : id_(IdOf(Format())) {}

absl::StatusOr<TreeManifest> TreeManifest::Create(std::vector<TreeEntry> entries,
                                                  std::vector<TreeSeed> seeds) {
  COHOST_RETURN_IF_ERROR(CheckCount(entries.size() + seeds.size()));
  for (const TreeEntry& entry : entries) COHOST_RETURN_IF_ERROR(CheckEntry(entry));
  for (const TreeSeed& seed : seeds) COHOST_RETURN_IF_ERROR(CheckSeed(seed));
  TreeManifest manifest;
  manifest.entries_ = std::move(entries);
  manifest.seeds_ = std::move(seeds);
  SortByPath(manifest.entries_);
  SortByPath(manifest.seeds_);
  COHOST_RETURN_IF_ERROR(CheckApart(manifest.entries_));
  COHOST_RETURN_IF_ERROR(CheckApart(manifest.seeds_));
  COHOST_RETURN_IF_ERROR(CheckSeedsHaveAPlace(manifest));
  manifest.id_ = IdOf(manifest.Format());
  return manifest;
}

absl::StatusOr<TreeManifest> TreeManifest::Parse(std::string_view text) {
  if (text.size() > kMaxManifestText.count) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a manifest of more than ", FormatBytes(kMaxManifestText)));
  }
  std::vector<TreeEntry> entries;
  std::vector<TreeSeed> seeds;
  size_t number = 0;
  const auto wrong = [&number](std::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("manifest of a tree, line ", number, ": ", AsAbsl(why)));
  };
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return wrong("it does not end");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (number == 1) {
      if (line != kFirstLine) return wrong("it is not 'cohost-tree 1'");
      continue;
    }
    COHOST_RETURN_IF_ERROR(CheckCount(entries.size() + seeds.size() + 1));
    const Words words = absl::StrSplit(AsAbsl(line), absl::MaxSplits(' ', 8));
    if (auto entry = ReadEntry(words); entry.has_value() && seeds.empty()) {
      entries.push_back(*std::move(entry));
    } else if (auto seed = ReadSeed(words); seed.has_value()) {
      seeds.push_back(*std::move(seed));
    } else {
      return wrong("it is neither an entry nor a seed, or not in its place");
    }
  }
  if (number == 0) return wrong("there is none");
  if (!IsSortedByPath(entries) || !IsSortedByPath(seeds)) {
    return absl::InvalidArgumentError("manifest of a tree: it is not sorted by path");
  }
  return Create(std::move(entries), std::move(seeds));
}

std::string TreeManifest::Format() const {
  std::string text = absl::StrCat(AsAbsl(kFirstLine), "\n");
  for (const TreeEntry& entry : entries_) AppendEntry(entry, text);
  for (const TreeSeed& seed : seeds_) AppendSeed(seed, text);
  return text;
}

const TreeEntry* TreeManifest::Find(std::string_view path) const {
  const auto it = std::lower_bound(
      entries_.begin(), entries_.end(), path,
      [](const TreeEntry& entry, std::string_view wanted) { return entry.path < wanted; });
  return it != entries_.end() && it->path == path ? &*it : nullptr;
}

std::vector<std::string> TreeManifest::StoredHashes() const {
  std::set<std::string> hashes;
  for (const TreeEntry& entry : entries_) {
    if (entry.type != TreeEntry::Type::kFile) continue;
    hashes.insert(entry.source_hash);
    hashes.insert(entry.stored_hash);
  }
  for (const TreeSeed& seed : seeds_) {
    if (!seed.is_folder) hashes.insert(seed.hash);
  }
  return {hashes.begin(), hashes.end()};
}

}  // namespace cohost::supervisor
