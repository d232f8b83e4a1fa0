// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/units.h"

namespace cohost::supervisor {

// A file as the lines of /proc/PID/maps name it. On most file systems these are st_dev and st_ino;
// on overlayfs and btrfs they are not (mapped_files.h finds out).
struct FileIdentity {
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint64_t inode = 0;  // 0: no file
  auto operator<=>(const FileIdentity&) const = default;
};

// One mapping of /proc/PID/smaps.
struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;  // MAP_SHARED: what is written goes to the file
  uint64_t offset = 0;
  FileIdentity file;
  // As the kernel writes it: empty, a file's path ("\012" for a newline, " (deleted)" at the end),
  // or "[heap]", "[stack]", ...
  std::string path;
  Bytes resident;
  Bytes pss;
  // These four are all of `resident`. Shared: other processes map the page too.
  Bytes shared_clean;
  Bytes shared_dirty;
  Bytes private_clean;
  Bytes private_dirty;
  // Of `resident`, pages that are not (any more) those of the file: of a private file mapping what
  // was written, as the dynamic loader does with relocations.
  Bytes anonymous;
  // When this mapping has no file and begins where the last one of a file ends: that file. It may
  // hold the .bss of a module, the zeroed rest of its data, and behind it memory of others, since
  // the kernel joins anonymous mappings. Otherwise the inode is 0.
  FileIdentity follows;
};

// Reads one line of /proc/PID/maps, which is also the first of each mapping in smaps:
//   00400000-0040b000 r-xp 00002000 fe:00 247270      /usr/bin/cat
// Unset when it is none.
std::optional<Mapping> ParseMappingLine(std::string_view line);

// Reads the text of /proc/PID/smaps in parts of any size and gives one mapping after the other to a
// sink; keeps no more than one mapping and one line. The text is the kernel's, of a process that
// changes meanwhile (a mapping may come twice when it grew), and held for hostile all the same: a
// line that is too long, a field that is missing, no number, or larger than its mapping is
// INVALID_ARGUMENT, more mappings than kMostMappings RESOURCE_EXHAUSTED; unknown fields are
// ignored. One thread at a time; after an error it is of no more use.
class SmapsParser {
 public:
  // A path of PATH_MAX bytes, all of them escaped, and what stands in front of it.
  static constexpr size_t kLongestLine = 4 * 4096 + 256;
  // 16 times what the kernel allows a process unless somebody raised vm.max_map_count.
  static constexpr size_t kMostMappings = 1 << 20;

  using Sink = std::function<void(const Mapping&)>;
  explicit SmapsParser(Sink sink) : sink_(std::move(sink)) {}

  absl::Status Feed(std::string_view part);
  // After the last part. INVALID_ARGUMENT when the text ends inside a mapping or has none.
  absl::Status Finish();

 private:
  absl::Status TakeLine(std::string_view line);
  absl::Status BeginMapping(std::string_view line);
  absl::Status TakeField(std::string_view line);
  absl::Status EndMapping();

  const Sink sink_;
  std::string rest_;  // of the last part: a line without its end
  Mapping mapping_;
  uint32_t seen_ = 0;  // bit per required field of mapping_
  size_t mappings_ = 0;
  uint64_t last_end_ = 0;   // of the mapping before
  FileIdentity last_file_;  // of the mapping before
};

// What one process maps of one file; bytes of resident pages.
struct FileMemory {
  std::string path;
  // The parts are all of `resident`: file pages that other processes map too, file pages that only
  // this one maps, and pages that were written and are no longer the file's.
  Bytes resident;
  Bytes shared;
  Bytes private_clean;
  Bytes relocated;
  Bytes pss;  // of all of it
  // Anonymous pages in a mapping right behind (Mapping::follows): .bss and perhaps more.
  Bytes following;

  // Pages of the file itself.
  uint64_t file_bytes() const { return shared.count + private_clean.count; }
  friend bool operator==(const FileMemory&, const FileMemory&) = default;
};

// All mappings of one process, added up.
struct ProcessMaps {
  std::map<FileIdentity, FileMemory> files;
  uint64_t mappings = 0;
  Bytes resident;
  Bytes pss;
  Bytes private_bytes;
  Bytes anonymous;
  // Of MAP_SHARED mappings that may be written, as segments are: memory rather than files, and not
  // among `files`.
  Bytes shared_memory;

  void Add(const Mapping& mapping);
};

// Bytes of resident pages of each file: the most that one process has.
using FilePages = std::map<FileIdentity, uint64_t>;
void RaiseFilePages(const ProcessMaps& maps, FilePages& files);

}  // namespace cohost::supervisor
