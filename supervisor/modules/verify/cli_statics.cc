// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/cli_statics.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/modules/verify/cli_tables.h"

namespace cohost::supervisor {

namespace {

constexpr uint8_t kTypeDef = 0x02;
constexpr uint8_t kField = 0x04;
constexpr uint8_t kMethodDef = 0x06;
constexpr uint8_t kModuleRef = 0x1a;
constexpr uint8_t kNestedClass = 0x29;

// Flags of types, fields and methods (II.23.1).
constexpr uint32_t kVisibility = 0x7;
constexpr uint32_t kPublicType = 1;
constexpr uint32_t kNestedPublicType = 2;
constexpr uint16_t kAccess = 0x7;
constexpr uint16_t kPublic = 6;
constexpr uint16_t kStatic = 0x10;
constexpr uint16_t kInitOnly = 0x20;
constexpr uint16_t kLiteral = 0x40;
constexpr uint16_t kSpecialName = 0x800;

constexpr std::string_view kSetter = "set_";
constexpr std::string_view kAdder = "add_";

bool IsPublicStatic(uint16_t flags) {
  return (flags & kAccess) == kPublic && (flags & kStatic) != 0;
}

// Walks the tables once, in their order, which is that of their numbers.
class StaticsReader {
 public:
  StaticsReader(const CliStreams& streams, const CliLayout& layout, CliReader& reader,
                const CliStatics::ReadCode& read_code)
      : streams_(streams), layout_(layout), reader_(reader), read_code_(read_code) {}

  absl::StatusOr<CliStatics> Read() {
    for (size_t table = 0; table <= kNestedClass; ++table) {
      switch (table) {
        case kTypeDef:
          ReadTypes();
          break;
        case kField:
          ReadFields();
          break;
        case kMethodDef:
          ReadMethods();
          break;
        case kModuleRef:
          COHOST_RETURN_IF_ERROR(ReadModules());
          break;
        case kNestedClass:
          ReadNesting();
          break;
        default:
          reader_.Skip(layout_.rows(table) * uint64_t{layout_.RowSize(table)});
      }
      if (reader_.failed()) return DamagedMetadata("its metadata is cut");
    }
    COHOST_RETURN_IF_ERROR(NameMembers());
    return std::move(statics_);
  }

 private:
  struct Type {
    uint32_t flags = 0;
    uint32_t name = 0;
    uint32_t space = 0;
    // Numbers of its first field and method, from 1; the next type's are behind its last.
    uint32_t fields = 0;
    uint32_t methods = 0;
    uint32_t encloser = 0;  // its row; 0: none
  };
  // A public static one that may be a finding.
  struct Member {
    uint32_t row = 0;
    uint32_t name = 0;
    uint32_t address = 0;  // of a method's code
    bool is_method = false;
    bool is_special = false;
  };

  void ReadTypes() {
    for (uint32_t i = 0; i < layout_.rows(kTypeDef) && !reader_.failed(); ++i) {
      Type type;
      type.flags = reader_.Next<uint32_t>();
      type.name = reader_.NextIndex(layout_.String());
      type.space = reader_.NextIndex(layout_.String());
      reader_.Skip(layout_.TypeDefOrRef());
      type.fields = reader_.NextIndex(layout_.Row(kField));
      type.methods = reader_.NextIndex(layout_.Row(kMethodDef));
      types_.push_back(type);
    }
  }

  void ReadFields() {
    for (uint32_t i = 0; i < layout_.rows(kField) && !reader_.failed(); ++i) {
      const auto flags = reader_.Next<uint16_t>();
      const uint32_t name = reader_.NextIndex(layout_.String());
      reader_.Skip(layout_.Blob());
      if (!IsPublicStatic(flags) || (flags & (kInitOnly | kLiteral)) != 0) continue;
      members_.push_back({.row = i + 1, .name = name});
    }
  }

  void ReadMethods() {
    const size_t rest = layout_.RowSize(kMethodDef) - 8 - layout_.String();
    for (uint32_t i = 0; i < layout_.rows(kMethodDef) && !reader_.failed(); ++i) {
      const auto address = reader_.Next<uint32_t>();
      reader_.Skip(2);
      const auto flags = reader_.Next<uint16_t>();
      const uint32_t name = reader_.NextIndex(layout_.String());
      reader_.Skip(rest);
      if (!IsPublicStatic(flags)) continue;
      members_.push_back({i + 1, name, address, true, (flags & kSpecialName) != 0});
    }
  }

  absl::Status ReadModules() {
    for (uint32_t i = 0; i < layout_.rows(kModuleRef) && !reader_.failed(); ++i) {
      COHOST_ASSIGN_OR_RETURN(std::string name,
                              CliStringAt(streams_.strings, reader_.NextIndex(layout_.String())));
      statics_.native_libraries.push_back(std::move(name));
    }
    return absl::OkStatus();
  }

  void ReadNesting() {
    for (uint32_t i = 0; i < layout_.rows(kNestedClass) && !reader_.failed(); ++i) {
      const uint32_t nested = reader_.NextIndex(layout_.Row(kTypeDef));
      const uint32_t encloser = reader_.NextIndex(layout_.Row(kTypeDef));
      if (nested == 0 || nested > types_.size()) continue;
      types_[nested - 1].encloser = encloser;
    }
  }

  absl::Status NameMembers() {
    for (const Member& member : members_) {
      if (statics_.mutable_members.size() == CliStatics::kMost) break;
      const Type* type = TypeOf(member);
      if (type == nullptr || !IsPublic(*type)) continue;
      COHOST_ASSIGN_OR_RETURN(const std::string name, CliStringAt(streams_.strings, member.name));
      const std::optional<std::string> finding = FindingOf(member, name);
      if (!finding) continue;
      COHOST_ASSIGN_OR_RETURN(const std::string owner, NameOf(*type));
      statics_.mutable_members.push_back(absl::StrCat(owner, ".", *finding));
    }
    return absl::OkStatus();
  }

  std::optional<std::string> FindingOf(const Member& member, const std::string& name) const {
    if (!member.is_method) return absl::StrCat(name, " can be set");
    if (member.is_special && name.starts_with(kSetter)) {
      return absl::StrCat(name.substr(kSetter.size()), " can be set");
    }
    if (member.is_special && name.starts_with(kAdder)) {
      return absl::StrCat(name.substr(kAdder.size()), " is a static event");
    }
    if (member.is_special || member.address == 0) return std::nullopt;
    if (!StoresArgumentInStatic(read_code_(member.address))) return std::nullopt;
    return absl::StrCat(name, " sets a static field");
  }

  // Types stand in the order of their members: the last one whose first member is not behind it.
  const Type* TypeOf(const Member& member) const {
    const auto first = [&](const Type& type) {
      return member.is_method ? type.methods : type.fields;
    };
    const auto after =
        std::upper_bound(types_.begin(), types_.end(), member.row,
                         [&](uint32_t row, const Type& type) { return row < first(type); });
    return after == types_.begin() ? nullptr : &*(after - 1);
  }

  bool IsPublic(const Type& type) const {
    // As many steps as there are types: a hostile file may have a circle.
    const Type* at = &type;
    for (size_t steps = 0; steps <= types_.size(); ++steps) {
      const uint32_t visibility = at->flags & kVisibility;
      if (visibility == kPublicType) return true;
      if (visibility != kNestedPublicType || at->encloser == 0 || at->encloser > types_.size()) {
        return false;
      }
      at = &types_[at->encloser - 1];
    }
    return false;
  }

  absl::StatusOr<std::string> NameOf(const Type& type) const {
    COHOST_ASSIGN_OR_RETURN(std::string name, CliStringAt(streams_.strings, type.name));
    if (type.space == 0) return name;
    COHOST_ASSIGN_OR_RETURN(const std::string space, CliStringAt(streams_.strings, type.space));
    return absl::StrCat(space, ".", name);
  }

  const CliStreams& streams_;
  const CliLayout& layout_;
  CliReader& reader_;
  const CliStatics::ReadCode& read_code_;
  std::vector<Type> types_;
  std::vector<Member> members_;
  CliStatics statics_;
};

// Bytes behind the opcode; `code` is at it. Of 0xfe the second byte counts.
size_t OperandOf(std::string_view code) {
  const auto opcode = static_cast<uint8_t>(code[0]);
  if (opcode == 0xfe) {
    if (code.size() < 2) return 0;
    switch (static_cast<uint8_t>(code[1])) {
      case 0x06:
      case 0x07:
      case 0x15:
      case 0x16:
      case 0x1c:
        return 1 + 4;
      case 0x09:
      case 0x0a:
      case 0x0b:
      case 0x0c:
      case 0x0d:
      case 0x0e:
        return 1 + 2;
      case 0x12:
      case 0x19:
        return 1 + 1;
      default:
        return 1;
    }
  }
  const auto in = [&](uint8_t from, uint8_t to) { return opcode >= from && opcode <= to; };
  if (opcode == 0x45 && code.size() >= 5) {  // switch
    CliReader reader(code.substr(1));
    return 4 + size_t{4} * std::min<size_t>(reader.Next<uint32_t>(), code.size());
  }
  if (opcode == 0x21 || opcode == 0x23) return 8;
  if (in(0x0e, 0x13) || opcode == 0x1f || in(0x2b, 0x37) || opcode == 0xde) return 1;
  if (opcode == 0x20 || opcode == 0x22 || in(0x27, 0x29) || in(0x38, 0x45) || in(0x6f, 0x75) ||
      opcode == 0x79 || in(0x7b, 0x81) || opcode == 0x8c || opcode == 0x8d || opcode == 0x8f ||
      in(0xa3, 0xa5) || opcode == 0xc2 || opcode == 0xc6 || opcode == 0xd0 || opcode == 0xdd) {
    return 4;
  }
  return 0;
}

}  // namespace

bool StoresArgumentInStatic(std::string_view code) {
  constexpr uint8_t kStoreStatic = 0x80;
  // Before the store: an argument, or the throw of `value ?? throw ...`.
  bool is_value = false;
  for (size_t at = 0; at < code.size();) {
    const std::string_view rest = code.substr(at);
    const auto opcode = static_cast<uint8_t>(rest[0]);
    if (opcode == kStoreStatic && is_value) return true;
    const bool is_long = opcode == 0xfe && rest.size() > 1;
    const uint8_t second = is_long ? static_cast<uint8_t>(rest[1]) : 0;
    // What stands before an instruction (volatile., unaligned.) is none of its own.
    if (!is_long || (second != 0x13 && second != 0x12)) {
      is_value = (opcode >= 0x02 && opcode <= 0x05) || opcode == 0x0e || opcode == 0x7a ||
                 (is_long && second == 0x09);
    }
    at += 1 + OperandOf(rest);
  }
  return false;
}

absl::StatusOr<CliStatics> CliStatics::Parse(std::string_view metadata, const ReadCode& read_code) {
  COHOST_ASSIGN_OR_RETURN(const CliStreams streams, FindCliStreams(metadata));
  CliReader reader(streams.tables);
  COHOST_ASSIGN_OR_RETURN(const CliLayout layout, ReadCliLayout(reader));
  return StaticsReader(streams, layout, reader, read_code).Read();
}

}  // namespace cohost::supervisor
