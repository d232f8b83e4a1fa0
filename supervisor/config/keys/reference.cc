// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/keys/reference.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/strings.h"
#include "supervisor/config/keys/key_table.h"

namespace cohost::supervisor {
namespace {

std::string_view TypeName(KeyType type) {
  switch (type) {
    case KeyType::kText:
      return "text";
    case KeyType::kName:
      return "name";
    case KeyType::kBoolean:
      return "`true` or `false`";
    case KeyType::kInteger:
      return "whole number";
    case KeyType::kNumber:
      return "number";
    case KeyType::kBytes:
      return "bytes (`256Mi`)";
    case KeyType::kDuration:
      return "duration (`30s`)";
    case KeyType::kHours:
      return "hours (`09:00-18:00`)";
    case KeyType::kMode:
      return "file mode (`\"0660\"`)";
    case KeyType::kFolder:
      return "folder";
    case KeyType::kFile:
      return "file";
    case KeyType::kTarget:
      return "request target (`/path`)";
    case KeyType::kUser:
      return "user";
    case KeyType::kUserGroup:
      return "group of users";
    case KeyType::kGlob:
      return "file pattern";
    case KeyType::kChoice:
      return "";
    case KeyType::kAddress:
      return "address";
    case KeyType::kEndpoint:
      return "`HOST:PORT`";
    case KeyType::kSocket:
      return "`unix:/path`";
    case KeyType::kSettings:
      return "tree of scalars";
    case KeyType::kMap:
      return "map";
  }
  return "";
}

std::string DescribeType(const Key& key) {
  std::string type(TypeName(key.type));
  if (key.type == KeyType::kChoice) {
    type = absl::StrCat("`", absl::StrReplaceAll(AsAbsl(key.choices), {{"|", "`, `"}}), "`");
  }
  if (key.type == KeyType::kMap) type = absl::StrCat("map `", AsAbsl(key.block->title), "`");
  if (!key.least.empty()) {
    absl::StrAppend(&type, ", ", AsAbsl(key.least), " to ", AsAbsl(key.most));
  }
  switch (key.shape) {
    case Shape::kOne:
      return type;
    case Shape::kList:
      return absl::StrCat("list: ", type);
    case Shape::kTable:
      return absl::StrCat("map of names: ", type);
  }
  return type;
}

std::string DescribeDefault(const Key& key) {
  if (key.state == KeyState::kRequired) return "required";
  return key.default_text.empty() ? "" : absl::StrCat("`", AsAbsl(key.default_text), "`");
}

std::string DescribeRuntime(const Key& key) {
  return key.runtime.empty() ? "" : absl::StrCat("Only `", AsAbsl(key.runtime), "`. ");
}

void AppendBlock(const Block& block, std::string& out) {
  absl::StrAppend(&out, "#### ",
                  block.title.empty() ? "The file" : absl::StrCat("`", AsAbsl(block.title), "`"),
                  "\n\n");
  if (!block.title.empty()) absl::StrAppend(&out, AsAbsl(block.doc), "\n\n");
  absl::StrAppend(&out, "| key | value | default | meaning |\n|---|---|---|---|\n");
  std::string reserved;
  for (const Key* key : block.AllKeys()) {
    if (key->state == KeyState::kReserved) {
      absl::StrAppend(&reserved, reserved.empty() ? "" : ", ", "`", AsAbsl(key->name), "`");
      continue;
    }
    absl::StrAppend(&out, "| `", AsAbsl(key->name), "` | ", DescribeType(*key), " | ");
    absl::StrAppend(&out, DescribeDefault(*key), " | ", DescribeRuntime(*key), AsAbsl(key->doc),
                    " |\n");
  }
  absl::StrAppend(&out, "\n");
  if (reserved.empty()) return;
  absl::StrAppend(&out, "Known, but not in this version: ", reserved, ".\n\n");
}

}  // namespace

std::string ReferenceMarkdown() {
  std::string out =
      "Sizes are whole numbers of bytes or have a binary unit (`Ki`, `Mi`, `Gi`, `Ti`); durations "
      "have a unit (`us`, `ms`, `s`, `m`, `h`, `d`; `1h30m`); `true` and `false` are the only "
      "booleans, and numbers are decimal. Relative paths start at the folder of the file that "
      "names them. Anchors, aliases, merge keys and tags are refused.\n\n";
  for (const Block* block : AllBlocks()) AppendBlock(*block, out);
  out.pop_back();
  return out;
}

}  // namespace cohost::supervisor
