// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/cli_metadata.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "supervisor/modules/verify/cli_tables.h"

namespace cohost::supervisor {

namespace {

constexpr uint8_t kAssemblyTable = 0x20;
constexpr uint8_t kReferenceTable = 0x23;
constexpr uint32_t kMostReferences = 8192;

AssemblyVersion NextVersion(CliReader& reader) {
  AssemblyVersion version;
  version.major = reader.Next<uint16_t>();
  version.minor = reader.Next<uint16_t>();
  version.build = reader.Next<uint16_t>();
  version.revision = reader.Next<uint16_t>();
  return version;
}

}  // namespace

std::string AssemblyVersion::ToString() const {
  return absl::StrCat(major, ".", minor, ".", build, ".", revision);
}

absl::StatusOr<CliMetadata> CliMetadata::Parse(std::string_view metadata) {
  COHOST_ASSIGN_OR_RETURN(CliStreams streams, FindCliStreams(metadata));
  CliReader reader(streams.tables);
  COHOST_ASSIGN_OR_RETURN(const CliLayout layout, ReadCliLayout(reader));
  CliMetadata result;
  result.version = std::move(streams.version);
  for (size_t table = 0; table < kAssemblyTable; ++table) {
    reader.Skip(layout.rows(table) * uint64_t{layout.RowSize(table)});
  }
  if (layout.rows(kAssemblyTable) > 1) return DamagedMetadata("its metadata has two assemblies");
  if (layout.rows(kAssemblyTable) == 1) {
    result.has_assembly = true;
    reader.Skip(4);  // the algorithm of its hash
    result.assembly.version = NextVersion(reader);
    reader.Skip(4 + layout.Blob());  // flags, public key
    const uint32_t name = reader.NextIndex(layout.String());
    reader.Skip(layout.String());  // culture
    COHOST_ASSIGN_OR_RETURN(result.assembly.name, CliStringAt(streams.strings, name));
  }
  for (size_t table = kAssemblyTable + 1; table < kReferenceTable; ++table) {
    reader.Skip(layout.rows(table) * uint64_t{layout.RowSize(table)});
  }
  if (layout.rows(kReferenceTable) > kMostReferences) {
    return DamagedMetadata("its metadata has too many references");
  }
  for (uint32_t i = 0; i < layout.rows(kReferenceTable) && !reader.failed(); ++i) {
    AssemblyName reference;
    reference.version = NextVersion(reader);
    reader.Skip(4 + layout.Blob());
    const uint32_t name = reader.NextIndex(layout.String());
    reader.Skip(layout.String() + layout.Blob());
    COHOST_ASSIGN_OR_RETURN(reference.name, CliStringAt(streams.strings, name));
    result.references.push_back(std::move(reference));
  }
  if (reader.failed()) return DamagedMetadata("its metadata is cut");
  return result;
}

}  // namespace cohost::supervisor
