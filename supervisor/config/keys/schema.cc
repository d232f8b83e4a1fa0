// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/keys/schema.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/strings.h"
#include "supervisor/config/keys/key_table.h"

namespace cohost::supervisor {
namespace {

// The texts of the key table are printable ASCII.
std::string JsonString(std::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(AsAbsl(text), {{"\\", "\\\\"}, {"\"", "\\\""}}),
                      "\"");
}

// "services[].limits" becomes the name of a definition: "services_limits".
std::string DefinitionName(const Block& block) {
  return absl::StrReplaceAll(AsAbsl(block.title), {{"[]", ""}, {".", "_"}});
}

std::string Reference(const Block& block) {
  return absl::StrCat("\"$ref\": \"#/$defs/", DefinitionName(block), "\"");
}

std::string Range(const Key& key) {
  std::string range;
  if (!key.least.empty()) absl::StrAppend(&range, ", \"minimum\": ", AsAbsl(key.least));
  if (!key.most.empty()) absl::StrAppend(&range, ", \"maximum\": ", AsAbsl(key.most));
  return range;
}

std::string Enumeration(std::string_view choices) {
  return absl::StrCat("\"enum\": [",
                      absl::StrJoin(absl::StrSplit(AsAbsl(choices), '|'), ", ",
                                    [](std::string* out, absl::string_view choice) {
                                      absl::StrAppend(out, "\"", choice, "\"");
                                    }),
                      "]");
}

std::string Pattern(std::string_view pattern) {
  return absl::StrCat("\"type\": \"string\", \"pattern\": ", JsonString(pattern));
}

// The members of the schema of one value.
std::string ValueMembers(const Key& key) {
  switch (key.type) {
    case KeyType::kText:
    case KeyType::kFolder:
    case KeyType::kFile:
    case KeyType::kUser:
    case KeyType::kUserGroup:
    case KeyType::kGlob:
    case KeyType::kEndpoint:
      return "\"type\": \"string\", \"minLength\": 1";
    case KeyType::kName:
      return Pattern("^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$");
    case KeyType::kBoolean:
      return "\"type\": \"boolean\"";
    case KeyType::kInteger:
      return absl::StrCat("\"type\": \"integer\"", Range(key));
    case KeyType::kNumber:
      return absl::StrCat("\"type\": \"number\"", Range(key));
    case KeyType::kBytes:
      return R"("type": ["string", "integer"], "pattern": "^[0-9]+(Ki|Mi|Gi|Ti)?$", "minimum": 0)";
    case KeyType::kDuration:
      return R"("type": ["string", "integer"], "pattern": "^(0|([0-9]+(us|ms|s|m|h|d))+)$", "maximum": 0)";
    case KeyType::kHours:
      return Pattern("^[0-9]{2}:[0-9]{2}-[0-9]{2}:[0-9]{2}$");
    case KeyType::kMode:
      return Pattern("^0?[0-7]{3}$");
    case KeyType::kTarget:
      return Pattern("^/");
    case KeyType::kChoice:
      return Enumeration(key.choices);
    case KeyType::kAddress:
      return absl::StrCat("\"anyOf\": [{", Pattern("^http(://|[+]unix:)"), "}, {",
                          Reference(kListenBlock), "}]");
    case KeyType::kSocket:
      return Pattern("^unix:/");
    case KeyType::kSettings:
      return "\"type\": \"object\"";
    case KeyType::kMap:
      return Reference(*key.block);
  }
  return "";
}

std::string KeySchema(const Block& block, const Key& key) {
  // The map form of an address holds the text form only.
  std::string value = &block == &kListenBlock && key.type == KeyType::kAddress
                          ? Pattern("^http(://|[+]unix:)")
                          : ValueMembers(key);
  if (key.shape == Shape::kList) {
    value = absl::StrCat("\"type\": \"array\", \"items\": {", value, "}");
  } else if (key.shape == Shape::kTable) {
    value = absl::StrCat("\"type\": \"object\", \"additionalProperties\": {", value, "}");
  }
  return absl::StrCat("{\"description\": ", JsonString(key.doc), ", ", value, "}");
}

std::string BlockMembers(const Block& block, std::string_view indent) {
  std::vector<std::string> properties, required;
  for (const Key* key : block.AllKeys()) {
    if (key->state == KeyState::kReserved) continue;
    properties.push_back(
        absl::StrCat(AsAbsl(indent), "    ", JsonString(key->name), ": ", KeySchema(block, *key)));
    // What only one runtime requires is checked by the parser alone.
    if (key->state == KeyState::kRequired && key->runtime.empty())
      required.push_back(JsonString(key->name));
  }
  return absl::StrCat(AsAbsl(indent), "  \"type\": \"object\",\n", AsAbsl(indent),
                      "  \"additionalProperties\": false,\n", AsAbsl(indent), "  \"required\": [",
                      absl::StrJoin(required, ", "), "],\n", AsAbsl(indent),
                      "  \"properties\": {\n", absl::StrJoin(properties, ",\n"), "\n",
                      AsAbsl(indent), "  }");
}

}  // namespace

std::string SchemaJson() {
  std::vector<std::string> definitions;
  for (const Block* block : AllBlocks()) {
    if (block == &kRootBlock) continue;
    definitions.push_back(absl::StrCat("    \"", DefinitionName(*block), "\": {\n",
                                       BlockMembers(*block, "    "), "\n    }"));
  }
  return absl::StrCat(
      "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
      "  \"title\": \"Cohost deployment\",\n",
      BlockMembers(kRootBlock, ""), ",\n  \"$defs\": {\n", absl::StrJoin(definitions, ",\n"),
      "\n  }\n}\n");
}

}  // namespace cohost::supervisor
