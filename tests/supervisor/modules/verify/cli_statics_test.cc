// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/cli_statics.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr uint16_t kPublicStatic = 0x16;
constexpr uint16_t kPrivateStatic = 0x11;
constexpr uint16_t kPublicInstance = 0x06;
constexpr uint16_t kInitOnly = 0x20;
constexpr uint16_t kLiteral = 0x40;
constexpr uint16_t kSpecialName = 0x800;

// Code that stores its argument: ldarg.0, stsfld, ret.
const std::string kStores("\x02\x80\x01\x00\x00\x04\x2a", 7);

struct Member {
  std::string name;
  uint16_t flags = kPublicStatic;
  uint32_t address = 0;
};
struct Type {
  std::string name = "Type";
  uint32_t flags = 1;  // public
  std::vector<Member> fields{};
  std::vector<Member> methods{};
  uint16_t encloser = 0;
};

template <typename T>
void Add(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Metadata with the tables TypeDef, Field, MethodDef, ModuleRef and NestedClass; types are in the
// namespace Acme.
std::string Metadata(const std::vector<Type>& types, const std::vector<std::string>& natives = {}) {
  std::string strings("\0Acme\0", 6);
  const auto text = [&](const std::string& value) {
    const auto at = static_cast<uint16_t>(strings.size());
    strings += value + '\0';
    return at;
  };
  std::string type_rows;
  std::string field_rows;
  std::string method_rows;
  std::string nested_rows;
  uint16_t fields = 1;
  uint16_t methods = 1;
  uint32_t nested = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    Add<uint32_t>(type_rows, types[i].flags);
    Add<uint16_t>(type_rows, text(types[i].name));
    Add<uint16_t>(type_rows, 1);
    Add<uint16_t>(type_rows, 0);
    Add<uint16_t>(type_rows, fields);
    Add<uint16_t>(type_rows, methods);
    for (const Member& field : types[i].fields) {
      Add<uint16_t>(field_rows, field.flags);
      Add<uint16_t>(field_rows, text(field.name));
      Add<uint16_t>(field_rows, 0);
      ++fields;
    }
    for (const Member& method : types[i].methods) {
      Add<uint32_t>(method_rows, method.address);
      Add<uint16_t>(method_rows, 0);
      Add<uint16_t>(method_rows, method.flags);
      Add<uint16_t>(method_rows, text(method.name));
      Add<uint16_t>(method_rows, 0);
      Add<uint16_t>(method_rows, 1);
      ++methods;
    }
    if (types[i].encloser == 0) continue;
    Add<uint16_t>(nested_rows, static_cast<uint16_t>(i + 1));
    Add<uint16_t>(nested_rows, types[i].encloser);
    ++nested;
  }
  std::string native_rows;
  for (const std::string& name : natives) Add<uint16_t>(native_rows, text(name));
  std::string tables;
  Add<uint32_t>(tables, 0);
  Add<uint32_t>(tables, 2);
  Add<uint64_t>(tables, 1ull << 0x02 | 1ull << 0x04 | 1ull << 0x06 | 1ull << 0x1a | 1ull << 0x29);
  Add<uint64_t>(tables, 0);
  for (const uint32_t rows : {static_cast<uint32_t>(types.size()), fields - 1u, methods - 1u,
                              static_cast<uint32_t>(natives.size()), nested}) {
    Add<uint32_t>(tables, rows);
  }
  tables += type_rows + field_rows + method_rows + native_rows + nested_rows;
  tables.resize((tables.size() + 3) & ~size_t{3});
  std::string root;
  Add<uint32_t>(root, 0x424a5342);
  root.append(8, '\0');
  Add<uint32_t>(root, 12);
  root += std::string("v4.0.30319\0\0", 12);
  Add<uint32_t>(root, 0x00020000);
  const size_t streams = root.size() + 12 + 20;
  Add<uint32_t>(root, static_cast<uint32_t>(streams));
  Add<uint32_t>(root, static_cast<uint32_t>(tables.size()));
  root += std::string("#~\0\0", 4);
  Add<uint32_t>(root, static_cast<uint32_t>(streams + tables.size()));
  Add<uint32_t>(root, static_cast<uint32_t>(strings.size()));
  root += std::string("#Strings\0\0\0\0", 12);
  return root + tables + strings;
}

CliStatics Parsed(const std::vector<Type>& types, const std::vector<std::string>& natives = {}) {
  const auto statics = CliStatics::Parse(Metadata(types, natives), [](uint32_t address) {
    return address == 7 ? kStores : std::string("\x2a");
  });
  EXPECT_TRUE(statics.ok()) << statics.status();
  return statics.ok() ? *statics : CliStatics();
}

TEST(CliStatics, FieldsThatAnybodyMaySetAreFound) {
  const CliStatics statics = Parsed({{.fields = {{"Set"},
                                                 {"ReadOnly", kPublicStatic | kInitOnly},
                                                 {"Constant", kPublicStatic | kLiteral},
                                                 {"hidden", kPrivateStatic},
                                                 {"Instance", kPublicInstance}}}});
  EXPECT_THAT(statics.mutable_members, ElementsAre("Acme.Type.Set can be set"));
}

TEST(CliStatics, SettersAndEventsAreFound) {
  const CliStatics statics =
      Parsed({{.methods = {{"get_Logger", kPublicStatic | kSpecialName, 1},
                           {"set_Logger", kPublicStatic | kSpecialName, 1},
                           {"add_Changed", kPublicStatic | kSpecialName, 1},
                           {"set_Instance", kPublicInstance | kSpecialName, 1},
                           {"set_hidden", kPrivateStatic | kSpecialName, 1}}}});
  EXPECT_THAT(statics.mutable_members,
              ElementsAre("Acme.Type.Logger can be set", "Acme.Type.Changed is a static event"));
}

TEST(CliStatics, MethodsThatStoreTheirArgumentAreFound) {
  const CliStatics statics = Parsed({{.methods = {{"Use", kPublicStatic, 7},
                                                  {"Compute", kPublicStatic, 1},
                                                  {"Abstract", kPublicStatic, 0},
                                                  {"Hidden", kPrivateStatic, 7}}}});
  EXPECT_THAT(statics.mutable_members, ElementsAre("Acme.Type.Use sets a static field"));
}

TEST(CliStatics, MembersOfTypesThatNobodySeesAreNot) {
  const std::vector<Member> field = {{"Set"}};
  const CliStatics statics = Parsed({{.name = "Internal", .flags = 0, .fields = field},
                                     {.name = "Public"},
                                     {.name = "Inner", .flags = 2, .fields = field, .encloser = 2},
                                     {.name = "Buried", .flags = 2, .fields = field, .encloser = 1},
                                     {.name = "Circle", .flags = 2, .fields = field, .encloser = 5},
                                     {.name = "Lost", .flags = 2, .fields = field}});
  EXPECT_THAT(statics.mutable_members, ElementsAre("Acme.Inner.Set can be set"));
}

TEST(CliStatics, AFewFindingsAreEnough) {
  std::vector<Member> fields;
  for (int i = 0; i < 100; ++i) fields.push_back({"F" + std::to_string(i)});
  EXPECT_THAT(Parsed({{.fields = fields}}).mutable_members, SizeIs(CliStatics::kMost));
}

TEST(CliStatics, NativeLibrariesAreNamed) {
  EXPECT_THAT(Parsed({}, {"libc", "e_sqlite3"}).native_libraries, ElementsAre("libc", "e_sqlite3"));
}

TEST(CliStatics, ArgumentsAreKnownInEveryForm) {
  const auto stores = [](const std::string& code) { return StoresArgumentInStatic(code); };
  const std::string store("\x80\x01\x00\x00\x04", 5);
  EXPECT_TRUE(stores(kStores));
  EXPECT_TRUE(stores("\x0e\x05" + store));                               // ldarg.s
  EXPECT_TRUE(stores(std::string("\xfe\x09\x05\x00", 4) + store));       // ldarg
  EXPECT_TRUE(stores("\x02\xfe\x13" + store));                           // volatile.
  EXPECT_TRUE(stores("\x7a" + store));                                   // value ?? throw
  EXPECT_FALSE(stores("\x14" + store));                                  // null
  EXPECT_FALSE(stores(std::string("\x73\x01\x00\x00\x06", 5) + store));  // new
  // The bytes of an operand are no code: ldc.i4 0x04000280, ret.
  EXPECT_FALSE(stores(std::string("\x20\x02\x80\x00\x04\x2a", 6)));
  // A switch of one target that looks like a store.
  EXPECT_FALSE(stores(std::string("\x02\x45\x01\x00\x00\x00\x80\x80\x80\x80\x2a", 11)));
  EXPECT_FALSE(stores(std::string("\x02\x45\xff\xff\xff\xff", 6)));
  EXPECT_FALSE(stores("\xfe"));
  EXPECT_FALSE(stores(""));
}

TEST(CliStatics, RefusesWhatIsCut) {
  const std::string good =
      Metadata({{.fields = {{"Set"}}, .methods = {{"set_X", kPublicStatic | kSpecialName}}}});
  const auto code = [](uint32_t) { return std::string(); };
  ASSERT_TRUE(CliStatics::Parse(good, code).ok());
  for (size_t size = 0; size < good.size(); ++size) {
    const auto statics = CliStatics::Parse(good.substr(0, size), code);
    if (statics.ok()) continue;
    EXPECT_EQ(statics.status().code(), absl::StatusCode::kInvalidArgument) << size;
  }
  EXPECT_THAT(std::string(CliStatics::Parse(good.substr(0, 100), code).status().message()),
              HasSubstr("damaged"));
}

}  // namespace
}  // namespace cohost::supervisor
