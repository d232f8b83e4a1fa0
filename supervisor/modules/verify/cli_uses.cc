// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/cli_uses.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "supervisor/modules/verify/cli_tables.h"

namespace cohost::supervisor {

namespace {

constexpr uint8_t kTypeRef = 0x01;
constexpr uint8_t kTypeDef = 0x02;
constexpr uint8_t kInterfaceImpl = 0x09;
constexpr uint8_t kMemberRef = 0x0a;

// Walks the tables once, in their order, which is that of their numbers.
class UsesReader {
 public:
  UsesReader(const CliStreams& streams, const CliLayout& layout, const CliUses& wanted,
             CliReader& reader)
      : streams_(streams), layout_(layout), wanted_(wanted), reader_(reader) {}

  absl::StatusOr<CliUses> Read() {
    for (size_t table = 0; table <= kMemberRef; ++table) {
      switch (table) {
        case kTypeRef:
          COHOST_RETURN_IF_ERROR(ReadTypeRefs());
          break;
        case kTypeDef:
          COHOST_RETURN_IF_ERROR(ReadTypeDefs());
          break;
        case kInterfaceImpl:
          COHOST_RETURN_IF_ERROR(ReadInterfaces());
          break;
        case kMemberRef:
          COHOST_RETURN_IF_ERROR(ReadMemberRefs());
          break;
        default:
          reader_.Skip(layout_.rows(table) * uint64_t{layout_.RowSize(table)});
      }
      if (reader_.failed()) return DamagedMetadata("its metadata is cut");
    }
    return std::move(uses_);
  }

 private:
  // A type of another assembly: places of its names. Not the names: a hostile file can have a
  // million rows of the longest one.
  struct Type {
    uint32_t name = 0;
    uint32_t space = 0;
    bool is_nested = false;
  };

  absl::Status ReadTypeRefs() {
    for (uint32_t i = 0; i < layout_.rows(kTypeRef); ++i) {
      const uint32_t scope = reader_.NextIndex(layout_.ResolutionScope());
      const uint32_t name = reader_.NextIndex(layout_.String());
      const uint32_t space = reader_.NextIndex(layout_.String());
      if (reader_.failed()) return DamagedMetadata("its metadata is cut");
      // Tag 3 is another type: this one is inside of it.
      types_.push_back({name, space, (scope & 3) == 3});
    }
    return absl::OkStatus();
  }

  absl::Status ReadTypeDefs() {
    const size_t rest =
        layout_.RowSize(kTypeDef) - 4 - 2 * layout_.String() - layout_.TypeDefOrRef();
    for (uint32_t i = 0; i < layout_.rows(kTypeDef) && !reader_.failed(); ++i) {
      reader_.Skip(4 + 2 * layout_.String());
      COHOST_RETURN_IF_ERROR(AddBase(reader_.NextIndex(layout_.TypeDefOrRef())));
      reader_.Skip(rest);
    }
    return absl::OkStatus();
  }

  absl::Status ReadInterfaces() {
    const size_t type = layout_.RowSize(kInterfaceImpl) - layout_.TypeDefOrRef();
    for (uint32_t i = 0; i < layout_.rows(kInterfaceImpl) && !reader_.failed(); ++i) {
      reader_.Skip(type);
      COHOST_RETURN_IF_ERROR(AddBase(reader_.NextIndex(layout_.TypeDefOrRef())));
    }
    return absl::OkStatus();
  }

  absl::Status ReadMemberRefs() {
    for (uint32_t i = 0; i < layout_.rows(kMemberRef); ++i) {
      const uint32_t parent = reader_.NextIndex(layout_.MemberRefParent());
      const uint32_t name = reader_.NextIndex(layout_.String());
      reader_.Skip(layout_.Blob());
      if (reader_.failed()) return DamagedMetadata("its metadata is cut");
      // Tag 1 of 3 bits: a TypeRef.
      if ((parent & 7) != 1) continue;
      COHOST_ASSIGN_OR_RETURN(const std::string type, TypeOf(parent >> 3));
      if (type.empty()) continue;
      COHOST_ASSIGN_OR_RETURN(const std::string member, CliStringAt(streams_.strings, name));
      std::string full = absl::StrCat(type, ".", member);
      if (wanted_.members.contains(full)) uses_.members.insert(std::move(full));
    }
    return absl::OkStatus();
  }

  // `index` is a TypeDefOrRef: tag 1 of 2 bits is a TypeRef.
  absl::Status AddBase(uint32_t index) {
    if ((index & 3) != 1) return absl::OkStatus();
    COHOST_ASSIGN_OR_RETURN(std::string type, TypeOf(index >> 2));
    if (wanted_.bases.contains(type)) uses_.bases.insert(std::move(type));
    return absl::OkStatus();
  }

  // Rows count from 1. Empty for one inside of another.
  absl::StatusOr<std::string> TypeOf(uint32_t row) const {
    if (row == 0 || row > types_.size()) {
      return DamagedMetadata("its metadata names a type that is not there");
    }
    const Type& type = types_[row - 1];
    if (type.is_nested) return "";
    COHOST_ASSIGN_OR_RETURN(std::string name, CliStringAt(streams_.strings, type.name));
    COHOST_ASSIGN_OR_RETURN(const std::string space, CliStringAt(streams_.strings, type.space));
    return space.empty() ? name : absl::StrCat(space, ".", name);
  }

  const CliStreams& streams_;
  const CliLayout& layout_;
  const CliUses& wanted_;
  CliReader& reader_;
  std::vector<Type> types_;
  CliUses uses_;
};

}  // namespace

absl::StatusOr<CliUses> CliUses::Parse(std::string_view metadata, const CliUses& wanted) {
  COHOST_ASSIGN_OR_RETURN(const CliStreams streams, FindCliStreams(metadata));
  CliReader reader(streams.tables);
  COHOST_ASSIGN_OR_RETURN(const CliLayout layout, ReadCliLayout(reader));
  return UsesReader(streams, layout, wanted, reader).Read();
}

}  // namespace cohost::supervisor
