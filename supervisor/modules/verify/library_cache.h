// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohost::supervisor {

// The index of installed libraries that ldconfig(8) writes (/etc/ld.so.cache), as far as the
// dynamic loader uses it for programs of this machine. Immutable.
//
// glibc's "new" format, in the machine's byte order:
//   offset  size  field
//        0    20  "glibc-ld.so.cache1.1"
//       20     4  n, number of entries
//       24     4  length of the strings
//       28    20  not used here
//       48  24 n  entries: 4 flags (kind of library), 4 offset of its name, 4 offset of its path,
//                 12 not used here
//             ..  strings, each with a zero byte; offsets count from the first byte of the file
// An entry whose strings do not lie inside of the file is skipped; a file of another format has
// none (glibc has written this one since 2.32).
class LibraryCache {
 public:
  LibraryCache() = default;
  explicit LibraryCache(std::string content);

  // The paths of libraries of that name, in the order in which the loader tries them.
  std::vector<std::string> Find(std::string_view name) const;

 private:
  std::string_view StringAt(uint64_t offset) const;

  std::string content_;
  size_t count_ = 0;
};

}  // namespace cohost::supervisor
