// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

// A deployment in one file: what `cohostctl export` writes and `cohostctl import` reads. It is a
// tar archive (POSIX ustar, not compressed) of regular files, in this order:
//
//   cohost-export          this header
//   deployment.yaml        the deployment as one file (deployment_writer.h): secrets are references
//   files                  which files it needs (file_list.h)
//   signatures/HASH.sig    of those that have signatures, in the order of `files`
//   modules/HASH.so        the files themselves, in the order of `files`; only those that `files`
//   modules/HASH.img       says are in the archive
//
// cohost-export is text, every line ended by '\n', fields as in field.h:
//
//   cohost-export 1
//   host-version <version of the host>
//   hostname <its name>
//   time <when, RFC 3339, UTC, whole seconds>
//   revision <of the deployment>
//   deployment <SHA-256 of deployment.yaml>
//   files <SHA-256 of files>
//   check <SHA-256 of all lines above>
//
// So every byte of content is covered by a hash: the header covers itself and both texts, `files`
// covers signatures and modules. A reader takes the whole archive or nothing of it. It knows from
// what it has read which name and size must come next, and refuses another name, a link, a folder,
// a sparse file, another hash, an archive that ends too early or goes on after its last file, and
// another format version.
namespace cohost::supervisor {

inline constexpr std::string_view kHeadEntry = "cohost-export";
inline constexpr std::string_view kDeploymentEntry = "deployment.yaml";
inline constexpr std::string_view kFilesEntry = "files";

struct ArchiveHead {
  std::string host_version;
  std::string hostname;
  absl::Time time;
  uint64_t revision = 0;
  std::string deployment_hash;
  std::string files_hash;
  friend bool operator==(const ArchiveHead&, const ArchiveHead&) = default;
};

std::string FormatArchiveHead(const ArchiveHead& head);
// INVALID_ARGUMENT naming what is wrong; UNIMPLEMENTED for another format version.
absl::StatusOr<ArchiveHead> ParseArchiveHead(std::string_view text);

}  // namespace cohost::supervisor
