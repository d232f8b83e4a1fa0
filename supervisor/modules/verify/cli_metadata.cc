// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/cli_metadata.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost::supervisor {

namespace {

constexpr size_t kTables = 64;
constexpr uint8_t kAssemblyTable = 0x20;
constexpr uint8_t kReferenceTable = 0x23;
constexpr uint32_t kMostReferences = 8192;
constexpr size_t kLongestName = 1024;

absl::Status Damaged(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(AsAbsl(what), "; it is damaged: copy or build it again"));
}

// Reads numbers one after the other; behind the end all are 0 and `failed` tells.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Next() {
    T number = 0;
    if (sizeof(T) > bytes_.size() - at_) {
      failed_ = true;
      at_ = bytes_.size();
      return number;
    }
    std::memcpy(&number, bytes_.data() + at_, sizeof number);
    at_ += sizeof number;
    return number;
  }
  // An index of 2 or 4 bytes.
  uint32_t NextIndex(size_t size) { return size == 2 ? Next<uint16_t>() : Next<uint32_t>(); }
  void Skip(uint64_t count) {
    if (count > bytes_.size() - at_) failed_ = true;
    at_ += std::min<uint64_t>(count, bytes_.size() - at_);
  }
  std::string_view Take(uint64_t count) {
    const size_t from = at_;
    Skip(count);
    return bytes_.substr(from, at_ - from);
  }
  bool failed() const { return failed_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

std::string_view UpToZero(std::string_view text) { return text.substr(0, text.find('\0')); }

// Numbers of rows and the sizes of indexes that follow from them.
class Layout {
 public:
  explicit Layout(uint8_t heap_sizes) : heap_sizes_(heap_sizes) {}

  void SetRows(size_t table, uint32_t rows) { rows_[table] = rows; }
  uint32_t rows(size_t table) const { return rows_[table]; }

  size_t String() const { return (heap_sizes_ & 1) != 0 ? 4 : 2; }
  size_t Guid() const { return (heap_sizes_ & 2) != 0 ? 4 : 2; }
  size_t Blob() const { return (heap_sizes_ & 4) != 0 ? 4 : 2; }

  // The length of a row of tables up to AssemblyRef (II.22); 0 for numbers that are no table.
  size_t RowSize(size_t table) const;

 private:
  // An index into one table.
  size_t Row(size_t table) const { return rows_[table] < 0x10000 ? 2 : 4; }
  // An index into one of several tables, told by its lowest `bits` (II.24.2.6).
  size_t Coded(size_t bits, std::initializer_list<size_t> tables) const {
    const auto small = [&](size_t table) { return rows_[table] < uint32_t{1} << (16 - bits); };
    return std::all_of(tables.begin(), tables.end(), small) ? 2 : 4;
  }
  size_t TypeDefOrRef() const { return Coded(2, {0x02, 0x01, 0x1b}); }
  size_t HasConstant() const { return Coded(2, {0x04, 0x08, 0x17}); }
  size_t HasCustomAttribute() const {
    return Coded(5, {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14,
                     0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b});
  }
  size_t HasFieldMarshal() const { return Coded(1, {0x04, 0x08}); }
  size_t HasDeclSecurity() const { return Coded(2, {0x02, 0x06, 0x20}); }
  size_t MemberRefParent() const { return Coded(3, {0x02, 0x01, 0x1a, 0x06, 0x1b}); }
  size_t HasSemantics() const { return Coded(1, {0x14, 0x17}); }
  size_t MethodDefOrRef() const { return Coded(1, {0x06, 0x0a}); }
  size_t MemberForwarded() const { return Coded(1, {0x04, 0x06}); }
  size_t CustomAttributeType() const { return Coded(3, {0x06, 0x0a}); }
  size_t ResolutionScope() const { return Coded(2, {0x00, 0x1a, 0x23, 0x01}); }

  const uint8_t heap_sizes_;
  std::array<uint32_t, kTables> rows_ = {};
};

size_t Layout::RowSize(size_t table) const {
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
    case kAssemblyTable:
      return 16 + Blob() + 2 * String();
    case 0x21:  // AssemblyProcessor
      return 4;
    case 0x22:  // AssemblyOS
      return 12;
    case kReferenceTable:
      return 12 + 2 * Blob() + 2 * String();
    default:
      return 0;
  }
}

struct Streams {
  std::string version;
  std::string_view tables;
  std::string_view strings;
};

absl::StatusOr<Streams> FindStreams(std::string_view metadata) {
  constexpr uint32_t kMagic = 0x424a5342;  // "BSJB"
  constexpr size_t kLongestVersion = 255;
  constexpr size_t kLongestStreamName = 32;
  Reader reader(metadata);
  if (reader.Next<uint32_t>() != kMagic) return Damaged("its metadata has no signature");
  reader.Skip(8);
  const auto version_length = reader.Next<uint32_t>();
  if (version_length > kLongestVersion + 1) return Damaged("its metadata has a version too long");
  Streams streams;
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
      if (name.size() > kLongestStreamName) return Damaged("its metadata has a name too long");
    }
    if (offset > metadata.size() || size > metadata.size() - offset) {
      return Damaged("a stream of its metadata lies outside of it");
    }
    if (name == "#~" || name == "#-") streams.tables = metadata.substr(offset, size);
    if (name == "#Strings") streams.strings = metadata.substr(offset, size);
  }
  if (reader.failed()) return Damaged("its metadata is cut");
  if (streams.tables.empty()) return Damaged("its metadata has no tables");
  return streams;
}

absl::StatusOr<std::string> StringAt(std::string_view strings, uint32_t offset) {
  if (offset >= strings.size()) return Damaged("a name of its metadata lies outside of it");
  const std::string_view rest = strings.substr(offset, kLongestName + 1);
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos) return Damaged("a name of its metadata has no end");
  return std::string(rest.substr(0, end));
}

AssemblyVersion NextVersion(Reader& reader) {
  AssemblyVersion version;
  version.major = reader.Next<uint16_t>();
  version.minor = reader.Next<uint16_t>();
  version.build = reader.Next<uint16_t>();
  version.revision = reader.Next<uint16_t>();
  return version;
}

// The head of the stream of tables; `reader` is at the first row then.
absl::StatusOr<Layout> ReadLayout(Reader& reader) {
  reader.Skip(6);
  const auto heap_sizes = reader.Next<uint8_t>();
  reader.Skip(1);
  const auto present = reader.Next<uint64_t>();
  reader.Skip(8);
  Layout layout(heap_sizes);
  for (size_t table = 0; table < kTables; ++table) {
    if ((present >> table & 1) != 0) layout.SetRows(table, reader.Next<uint32_t>());
  }
  // Another 4 bytes follow the numbers (in files of edit and continue).
  constexpr uint8_t kExtraData = 0x40;
  if ((heap_sizes & kExtraData) != 0) reader.Skip(4);
  if (reader.failed()) return Damaged("its metadata is cut");
  return layout;
}

}  // namespace

std::string AssemblyVersion::ToString() const {
  return absl::StrCat(major, ".", minor, ".", build, ".", revision);
}

absl::StatusOr<CliMetadata> CliMetadata::Parse(std::string_view metadata) {
  COHOST_ASSIGN_OR_RETURN(Streams streams, FindStreams(metadata));
  Reader reader(streams.tables);
  COHOST_ASSIGN_OR_RETURN(const Layout layout, ReadLayout(reader));
  CliMetadata result;
  result.version = std::move(streams.version);
  for (size_t table = 0; table < kAssemblyTable; ++table) {
    reader.Skip(layout.rows(table) * uint64_t{layout.RowSize(table)});
  }
  if (layout.rows(kAssemblyTable) > 1) return Damaged("its metadata has two assemblies");
  if (layout.rows(kAssemblyTable) == 1) {
    result.has_assembly = true;
    reader.Skip(4);  // the algorithm of its hash
    result.assembly.version = NextVersion(reader);
    reader.Skip(4 + layout.Blob());  // flags, public key
    const uint32_t name = reader.NextIndex(layout.String());
    reader.Skip(layout.String());  // culture
    COHOST_ASSIGN_OR_RETURN(result.assembly.name, StringAt(streams.strings, name));
  }
  for (size_t table = kAssemblyTable + 1; table < kReferenceTable; ++table) {
    reader.Skip(layout.rows(table) * uint64_t{layout.RowSize(table)});
  }
  if (layout.rows(kReferenceTable) > kMostReferences) {
    return Damaged("its metadata has too many references");
  }
  for (uint32_t i = 0; i < layout.rows(kReferenceTable) && !reader.failed(); ++i) {
    AssemblyName reference;
    reference.version = NextVersion(reader);
    reader.Skip(4 + layout.Blob());
    const uint32_t name = reader.NextIndex(layout.String());
    reader.Skip(layout.String() + layout.Blob());
    COHOST_ASSIGN_OR_RETURN(reference.name, StringAt(streams.strings, name));
    result.references.push_back(std::move(reference));
  }
  if (reader.failed()) return Damaged("its metadata is cut");
  return result;
}

}  // namespace cohost::supervisor
