// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/modules/stored_file.h"

namespace cohost::supervisor {

// What tells one state of a source file from another without reading it.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
  // A program can set the time of modification back, but not this one.
  int64_t changed_ns = 0;

  static FileStamp Of(const struct stat& status);
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Which source file, in which state, gave which stored file. One thread at a time.
//
// As text, one line a source, so that a torn or damaged file loses single lines at most:
//   cohost-sources 1
//   <hash> <module|image|assembly|file|program> <device> <inode> <size> <modified> <changed> <path
//   to the end of the line>
// A line that does not read exactly so is skipped; another first line makes the index empty.
class SourceIndex {
 public:
  struct Entry {
    FileStamp stamp;
    std::string hash;
    StoredKind kind = StoredKind::kModule;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // `skipped` counts lines that could not be read.
  static SourceIndex Parse(std::string_view text, size_t* skipped);
  std::string Format() const;

  // The hash that this very state of the file had, if it is known.
  std::optional<std::string> Find(const std::string& source, StoredKind kind,
                                  const FileStamp& stamp) const;
  // False when that was known already.
  bool Remember(const std::string& source, Entry entry);
  // A source that gave each file: of several the first by name.
  std::map<std::string, std::string> SourcesByHash() const;
  // Forgets what gave files that are not there any more; how many.
  size_t Retain(const std::function<bool(const std::string& hash)>& is_there);

 private:
  std::map<std::string, Entry> entries_;  // by source path
};

}  // namespace cohost::supervisor
