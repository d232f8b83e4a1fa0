// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/symbol_versions.h"

#include <elf.h>

#include <cstdint>
#include <utility>

#include "base/status.h"

namespace cohost::supervisor {

namespace {

// libstdc++ has some fifty; a bound for numbers of a damaged file.
constexpr uint64_t kMost = 4096;

template <typename T>
absl::StatusOr<T> ReadOne(const ElfImage& image, uint64_t address) {
  T value;
  COHOST_RETURN_IF_ERROR(image.ReadLoaded(address, &value, sizeof value));
  return value;
}

absl::Status TooMany() {
  return absl::InvalidArgumentError(
      "it has too many symbol versions; it is damaged: copy or build it again");
}

}  // namespace

absl::StatusOr<std::vector<NeededVersion>> ReadNeededVersions(const ElfImage& image) {
  std::vector<NeededVersion> versions;
  const auto table = image.Dynamic(DT_VERNEED);
  if (!table.has_value()) return versions;
  uint64_t seen = 0;
  for (uint64_t at = *table;;) {
    COHOST_ASSIGN_OR_RETURN(const auto need, ReadOne<Elf64_Verneed>(image, at));
    COHOST_ASSIGN_OR_RETURN(const std::string library, image.StringAt(need.vn_file));
    for (uint64_t aux_at = at + need.vn_aux;;) {
      if (++seen > kMost) return TooMany();
      COHOST_ASSIGN_OR_RETURN(const auto aux, ReadOne<Elf64_Vernaux>(image, aux_at));
      if ((aux.vna_flags & VER_FLG_WEAK) == 0) {
        COHOST_ASSIGN_OR_RETURN(std::string version, image.StringAt(aux.vna_name));
        versions.push_back({library, std::move(version)});
      }
      if (aux.vna_next == 0) break;
      aux_at += aux.vna_next;
    }
    if (need.vn_next == 0) return versions;
    at += need.vn_next;
  }
}

absl::StatusOr<std::set<std::string>> ReadDefinedVersions(const ElfImage& image) {
  std::set<std::string> versions;
  const auto table = image.Dynamic(DT_VERDEF);
  if (!table.has_value()) return versions;
  uint64_t seen = 0;
  for (uint64_t at = *table;;) {
    if (++seen > kMost) return TooMany();
    COHOST_ASSIGN_OR_RETURN(const auto definition, ReadOne<Elf64_Verdef>(image, at));
    // The first name is its own, the others are the versions that it follows.
    COHOST_ASSIGN_OR_RETURN(const auto aux, ReadOne<Elf64_Verdaux>(image, at + definition.vd_aux));
    COHOST_ASSIGN_OR_RETURN(std::string version, image.StringAt(aux.vda_name));
    versions.insert(std::move(version));
    if (definition.vd_next == 0) return versions;
    at += definition.vd_next;
  }
}

}  // namespace cohost::supervisor
