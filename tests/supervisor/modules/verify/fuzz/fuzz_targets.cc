// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/modules/verify/fuzz/fuzz_targets.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "base/format/data_image.h"
#include "base/format/data_image_builder.h"
#include "base/sha256.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"
#include "supervisor/modules/source_index.h"
#include "supervisor/modules/verify/assembly_file.h"
#include "supervisor/modules/verify/elf_file.h"
#include "supervisor/modules/verify/library_cache.h"

namespace cohost::supervisor {

namespace {

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

UniqueFd MemoryFile(std::string_view bytes) {
  UniqueFd fd(::memfd_create("fuzzed", MFD_CLOEXEC));
  Require(fd.valid() && WriteAll(fd.get(), bytes).ok(), "a file in memory can be written");
  return fd;
}

// A refusal is one for the file's content, with a text that can be shown.
void RequireRefusal(const absl::Status& status) {
  Require(absl::IsInvalidArgument(status) || absl::IsDataLoss(status), "the code of a refusal");
  const std::string message(status.message());
  Require(!message.empty(), "a refusal says why");
  Require(std::all_of(message.begin(), message.end(),
                      [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; }),
          "a refusal has no control characters");
}

}  // namespace

bool FuzzSharedObject(std::string_view bytes) {
  // Without libraries of this machine, so that the same bytes do the same everywhere.
  const auto report = CheckSharedObject(MemoryFile(bytes).get(), {"/dev/null", {}});
  if (!report.ok()) {
    RequireRefusal(report.status());
    return false;
  }
  Require(report->relocation_cost.own_symbols <= report->relocation_cost.count,
          "relocations of own symbols are relocations");
  return true;
}

bool FuzzLibraryCache(std::string_view bytes) {
  const LibraryCache cache{std::string(bytes)};
  const auto paths = cache.Find("libseed.so.1");
  for (const std::string& path : paths) Require(path.starts_with('/'), "a path is absolute");
  return !paths.empty();
}

bool FuzzAssembly(std::string_view bytes) {
  const auto info = ReadAssembly(MemoryFile(bytes).get());
  if (!info.ok()) {
    RequireRefusal(info.status());
    return false;
  }
  (void)AssemblyWarnings(*info, {10, 0, 16});
  return CheckFramework(*info, {10, 0, 16}).ok();
}

bool FuzzDataImage(std::string_view bytes) {
  const absl::Status raw = VerifyDataImage(MemoryFile(bytes).get());
  if (!raw.ok()) RequireRefusal(raw);
  // With the checksum that a hostile writer would put there: no other bytes are accepted.
  constexpr size_t kDigestAt = 64;
  std::string sealed(bytes);
  if (sealed.size() < COHOST_DATA_IMAGE_HEADER_SIZE) return raw.ok();
  std::memset(sealed.data() + kDigestAt, 0, sizeof(Sha256Digest));
  Sha256 sha256;
  sha256.Update(sealed);
  const Sha256Digest digest = sha256.Finish();
  std::memcpy(sealed.data() + kDigestAt, digest.data(), digest.size());
  const absl::Status status = VerifyDataImage(MemoryFile(sealed).get());
  if (!status.ok()) {
    RequireRefusal(status);
    return false;
  }
  const auto image = DataImage::Open(sealed);
  Require(image.has_value(), "a reader opens what was verified");
  for (uint64_t i = 0; i < image->size(); ++i) {
    const auto record = image->At(i);
    Require(record.has_value(), "a record of a verified image is there");
    const auto found = image->Find(record->key);
    Require(found.has_value() && *found == record->value, "a record is found by its key");
  }
  return raw.ok();
}

bool FuzzSourceIndex(std::string_view bytes) {
  size_t skipped = 0;
  const SourceIndex index = SourceIndex::Parse(bytes, &skipped);
  const std::string text = index.Format();
  size_t skipped_again = 0;
  const SourceIndex again = SourceIndex::Parse(text, &skipped_again);
  Require(skipped_again == 0, "what is written is read");
  Require(again.Format() == text, "what is read is what was written");
  return skipped == 0 && !index.SourcesByHash().empty();
}

}  // namespace cohost::supervisor
