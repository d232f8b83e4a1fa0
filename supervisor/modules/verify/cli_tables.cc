// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/cli_tables.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost::supervisor {

namespace {

constexpr size_t kLongestName = 1024;

std::string_view UpToZero(std::string_view text) { return text.substr(0, text.find('\0')); }

}  // namespace

absl::Status DamagedMetadata(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(AsAbsl(what), "; it is damaged: copy or build it again"));
}

size_t CliLayout::RowSize(size_t table) const {
  switch (table) {
    case 0x00:  // Module
      return 2 + String() + 3 * Guid();
    case 0x01:  // TypeRef
      return ResolutionScope() + 2 * String();
    case 0x02:  // TypeDef
      return 4 + 2 * String() + TypeDefOrRef() + Row(0x04) + Row(0x06);
    case 0x03:  // FieldPtr
      return Row(0x04);
    case 0x04:  // Field
      return 2 + String() + Blob();
    case 0x05:  // MethodPtr
      return Row(0x06);
    case 0x06:  // MethodDef
      return 8 + String() + Blob() + Row(0x08);
    case 0x07:  // ParamPtr
      return Row(0x08);
    case 0x08:  // Param
      return 4 + String();
    case 0x09:  // InterfaceImpl
      return Row(0x02) + TypeDefOrRef();
    case 0x0a:  // MemberRef
      return MemberRefParent() + String() + Blob();
    case 0x0b:  // Constant
      return 2 + HasConstant() + Blob();
    case 0x0c:  // CustomAttribute
      return HasCustomAttribute() + CustomAttributeType() + Blob();
    case 0x0d:  // FieldMarshal
      return HasFieldMarshal() + Blob();
    case 0x0e:  // DeclSecurity
      return 2 + HasDeclSecurity() + Blob();
    case 0x0f:  // ClassLayout
      return 6 + Row(0x02);
    case 0x10:  // FieldLayout
      return 4 + Row(0x04);
    case 0x11:  // StandAloneSig
      return Blob();
    case 0x12:  // EventMap
      return Row(0x02) + Row(0x14);
    case 0x13:  // EventPtr
      return Row(0x14);
    case 0x14:  // Event
      return 2 + String() + TypeDefOrRef();
    case 0x15:  // PropertyMap
      return Row(0x02) + Row(0x17);
    case 0x16:  // PropertyPtr
      return Row(0x17);
    case 0x17:  // Property
      return 2 + String() + Blob();
    case 0x18:  // MethodSemantics
      return 2 + Row(0x06) + HasSemantics();
    case 0x19:  // MethodImpl
      return Row(0x02) + 2 * MethodDefOrRef();
    case 0x1a:  // ModuleRef
      return String();
    case 0x1b:  // TypeSpec
      return Blob();
    case 0x1c:  // ImplMap
      return 2 + MemberForwarded() + String() + Row(0x1a);
    case 0x1d:  // FieldRVA
      return 4 + Row(0x04);
    case 0x1e:  // EncLog
      return 8;
    case 0x1f:  // EncMap
      return 4;
    case 0x20:  // Assembly
      return 16 + Blob() + 2 * String();
    case 0x21:  // AssemblyProcessor
      return 4;
    case 0x22:  // AssemblyOS
      return 12;
    case 0x23:  // AssemblyRef
      return 12 + 2 * Blob() + 2 * String();
    case 0x24:  // AssemblyRefProcessor
      return 4 + Row(0x23);
    case 0x25:  // AssemblyRefOS
      return 12 + Row(0x23);
    case 0x26:  // File
      return 4 + String() + Blob();
    case 0x27:  // ExportedType
      return 8 + 2 * String() + Implementation();
    case 0x28:  // ManifestResource
      return 8 + String() + Implementation();
    case 0x29:  // NestedClass
      return 2 * Row(0x02);
    default:
      return 0;
  }
}

absl::StatusOr<CliStreams> FindCliStreams(std::string_view metadata) {
  constexpr uint32_t kMagic = 0x424a5342;  // "BSJB"
  constexpr size_t kLongestVersion = 255;
  constexpr size_t kLongestStreamName = 32;
  CliReader reader(metadata);
  if (reader.Next<uint32_t>() != kMagic) return DamagedMetadata("its metadata has no signature");
  reader.Skip(8);
  const auto version_length = reader.Next<uint32_t>();
  if (version_length > kLongestVersion + 1)
    return DamagedMetadata("its metadata has a version too long");
  CliStreams streams;
  streams.version = std::string(UpToZero(reader.Take(version_length)));
  reader.Skip(2);
  const auto count = reader.Next<uint16_t>();
  for (size_t i = 0; i < count && !reader.failed(); ++i) {
    const uint64_t offset = reader.Next<uint32_t>();
    const uint64_t size = reader.Next<uint32_t>();
    std::string name;
    while (!reader.failed()) {
      const std::string_view part = reader.Take(4);
      name += UpToZero(part);
      if (part.find('\0') != std::string_view::npos) break;
      if (name.size() > kLongestStreamName)
        return DamagedMetadata("its metadata has a name too long");
    }
    if (offset > metadata.size() || size > metadata.size() - offset) {
      return DamagedMetadata("a stream of its metadata lies outside of it");
    }
    if (name == "#~" || name == "#-") streams.tables = metadata.substr(offset, size);
    if (name == "#Strings") streams.strings = metadata.substr(offset, size);
  }
  if (reader.failed()) return DamagedMetadata("its metadata is cut");
  if (streams.tables.empty()) return DamagedMetadata("its metadata has no tables");
  return streams;
}

absl::StatusOr<std::string> CliStringAt(std::string_view strings, uint32_t offset) {
  if (offset >= strings.size()) return DamagedMetadata("a name of its metadata lies outside of it");
  const std::string_view rest = strings.substr(offset, kLongestName + 1);
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos) return DamagedMetadata("a name of its metadata has no end");
  return std::string(rest.substr(0, end));
}

absl::StatusOr<CliLayout> ReadCliLayout(CliReader& reader) {
  reader.Skip(6);
  const auto heap_sizes = reader.Next<uint8_t>();
  reader.Skip(1);
  const auto present = reader.Next<uint64_t>();
  reader.Skip(8);
  CliLayout layout(heap_sizes);
  for (size_t table = 0; table < kCliTables; ++table) {
    if ((present >> table & 1) != 0) layout.SetRows(table, reader.Next<uint32_t>());
  }
  // Another 4 bytes follow the numbers (in files of edit and continue).
  constexpr uint8_t kExtraData = 0x40;
  if ((heap_sizes & kExtraData) != 0) reader.Skip(4);
  if (reader.failed()) return DamagedMetadata("its metadata is cut");
  return layout;
}

}  // namespace cohost::supervisor
