// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/units.h"
#include "supervisor/modules/stored_file.h"

namespace cohost::supervisor {

inline constexpr size_t kMaxTreeEntries = 100'000;
inline constexpr Bytes kMaxManifestText = MiB(64);

// How a file of a tree gets its content.
enum class Placing {
  kLink,  // one more name of the stored file: its pages are shared by all who map it
  kCopy,  // a file of its own, which an application may rewrite without touching the store
};

// One name of a tree. Folders follow from the paths below them; only empty ones are named.
struct TreeEntry {
  enum class Type {
    kFile,
    kFolder,      // an empty one
    kLink,        // symbolic, to `target` inside the tree
    kDataFile,    // symbolic, to the same path in the service's data folder, which may be missing
    kDataFolder,  // the same for a whole folder, which is there
  };
  std::string path;
  Type type = Type::kFile;

  // Of kFile.
  mode_t mode = 0444;  // or 0555
  StoredKind kind = StoredKind::kFile;
  Placing placing = Placing::kCopy;
  Bytes size{};               // of the stored file
  std::string source_hash{};  // of what was published; differs when it was precompiled
  std::string stored_hash{};

  // Of kLink.
  std::string target{};

  friend bool operator==(const TreeEntry&, const TreeEntry&) = default;
};

// A file or folder that the application came with and that belongs into its data folder: put there
// once, when it is not there.
struct TreeSeed {
  std::string path;
  bool is_folder = false;
  // Of a file. The stored kind is kFile, or kProgram when mode is 0555.
  mode_t mode = 0444;
  Bytes size{};
  std::string hash{};

  friend bool operator==(const TreeSeed&, const TreeSeed&) = default;
};

// What a tree and its data folder are made of; immutable. As text, every line ended by '\n', words
// separated by one space, paths and targets as EscapeWord writes them (relative_path.h):
//
//   cohost-tree 1
//   file PATH MODE KIND PLACING SIZE SOURCE STORED
//   folder PATH
//   link PATH TARGET
//   data-file PATH
//   data-folder PATH
//   seed PATH MODE SIZE HASH
//   seed-folder PATH
//
// MODE is 444 or 555, KIND module, image, assembly, file or program, PLACING link or copy, SIZE
// decimal without leading zeros, hashes 64 lower-case hexadecimal digits. First the entries, sorted
// by the bytes of their paths, then the seeds, sorted too. No path twice; no entry below another; a
// seed is a data-file or below a data-folder, no seed below another. The text of a manifest is
// unique, so its SHA-256 is the tree's id. Whatever else a text holds, however little, refuses it.
class TreeManifest {
 public:
  // Without entries.
  TreeManifest();

  // Sorts them. INVALID_ARGUMENT when they break a rule above, RESOURCE_EXHAUSTED when there are
  // more than kMaxTreeEntries of both together.
  static absl::StatusOr<TreeManifest> Create(std::vector<TreeEntry> entries,
                                             std::vector<TreeSeed> seeds);
  // INVALID_ARGUMENT naming the line; RESOURCE_EXHAUSTED as above or beyond kMaxManifestText.
  static absl::StatusOr<TreeManifest> Parse(std::string_view text);
  std::string Format() const;

  // 64 hexadecimal digits.
  const std::string& id() const { return id_; }
  const std::vector<TreeEntry>& entries() const { return entries_; }
  const std::vector<TreeSeed>& seeds() const { return seeds_; }
  // Nothing when there is no such entry; valid as long as the manifest.
  const TreeEntry* Find(std::string_view path) const;
  // Of every stored file that it needs, sorted: what the store has to keep. Sources of precompiled
  // images are among them, since another framework needs other images.
  std::vector<std::string> StoredHashes() const;

 private:
  std::vector<TreeEntry> entries_;
  std::vector<TreeSeed> seeds_;
  std::string id_;
};

}  // namespace cohost::supervisor
