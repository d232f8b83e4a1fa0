// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/modules/verify/elf_image.h"

namespace cohost::supervisor {

// A version of a library's symbols that an object was linked with ("GLIBC_2.36" of "libc.so.6");
// the loader refuses the object when its library defines no such version.
struct NeededVersion {
  std::string library;
  std::string version;
  friend bool operator==(const NeededVersion&, const NeededVersion&) = default;
};

// Those of DT_VERNEED without the weak ones, which the loader lets pass. Errors as ElfImage.
absl::StatusOr<std::vector<NeededVersion>> ReadNeededVersions(const ElfImage& image);

// The versions that a library defines (DT_VERDEF); empty when it has none at all, which the loader
// takes for any version.
absl::StatusOr<std::set<std::string>> ReadDefinedVersions(const ElfImage& image);

}  // namespace cohost::supervisor
