// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/reader/map_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "supervisor/config/reader/value_check.h"
#include "supervisor/config/yaml/scalar.h"

namespace cohost::supervisor {

MapReader::MapReader(const YamlNode& node, const Block& block, std::string path,
                     const SourceFile& file, ReadContext& context)
    : node_(node), block_(block), path_(std::move(path)), file_(file), context_(context) {
  CheckKeys();
}

void MapReader::CheckKeys() {
  if (node_.kind != YamlNode::Kind::kMap) {
    Fail(node_, "", absl::StrCat("expected a map of keys, not ", AsAbsl(DescribeKind(node_))));
    return;
  }
  for (size_t i = 0; i < node_.entry_count(); ++i) CheckKey(node_.key(i), node_.value(i));
  for (const Key* key : block_.AllKeys()) {
    if (key->state == KeyState::kRequired && key->runtime.empty()) Require(*key);
  }
}

void MapReader::Require(const Key& key) {
  if (Has(key.name)) return;
  Fail(node_, "", absl::StrCat("key '", AsAbsl(key.name), "' is missing"));
}

void MapReader::CheckRuntime(std::string_view runtime) {
  if (node_.kind != YamlNode::Kind::kMap) return;
  for (size_t i = 0; i < node_.entry_count(); ++i) {
    const Key* key = block_.Find(node_.key(i).text);
    if (key == nullptr || key->runtime.empty() || key->runtime == runtime) continue;
    Fail(node_.key(i), key->name,
         absl::StrCat("only services of the runtime '", AsAbsl(key->runtime), "' have it"));
  }
  for (const Key* key : block_.AllKeys()) {
    if (key->state == KeyState::kRequired && key->runtime == runtime) Require(*key);
  }
}

void MapReader::CheckKey(const YamlNode& key, const YamlNode& value) {
  const Key* known = block_.Find(key.text);
  if (known == nullptr) {
    const Key* nearest = block_.Nearest(key.text);
    Fail(key, key.text,
         absl::StrCat("unknown key ", Quoted(key.text),
                      nearest == nullptr
                          ? ""
                          : absl::StrCat(", did you mean '", AsAbsl(nearest->name), "'?")));
  } else if (known->state == KeyState::kReserved) {
    Fail(key, key.text, "not in this version");
  } else if (value.kind == YamlNode::Kind::kEmpty) {
    Fail(key, key.text, "has no value");
  }
}

std::string MapReader::PathOf(std::string_view name) const {
  if (name.empty()) return path_;
  return path_.empty() ? std::string(name) : absl::StrCat(path_, ".", AsAbsl(name));
}

void MapReader::Fail(const YamlNode& node, std::string_view key, std::string message) {
  context_.errors.Add({file_.name, node.line, node.column, PathOf(key), std::move(message)});
}

Place MapReader::PlaceOf(std::string_view name) const {
  const YamlNode* value = node_.Find(name);
  if (value == nullptr) return {file_.name, node_.line, node_.column, path_};
  return {file_.name, value->line, value->column, PathOf(name)};
}

Place MapReader::ItemPlace(std::string_view name, size_t index, const YamlNode& item) const {
  return {file_.name, item.line, item.column, absl::StrCat(PathOf(name), "[", index, "]")};
}

bool MapReader::IsScalar(const YamlNode& node, std::string_view path) {
  if (node.kind == YamlNode::Kind::kScalar) return true;
  Fail(node, path, absl::StrCat("expected one value, not ", AsAbsl(DescribeKind(node))));
  return false;
}

MapReader::Value MapReader::Scalar(std::string_view name) {
  const Value value{block_.Find(name), node_.Find(name)};
  // An empty value was reported with its key.
  if (value.node == nullptr || value.node->kind == YamlNode::Kind::kEmpty) return {};
  if (!IsScalar(*value.node, name)) return {};
  return value;
}

bool MapReader::Accept(const Value& value, const absl::Status& status) {
  if (status.ok()) return true;
  Fail(*value.node, value.key->name, std::string(status.message()));
  return false;
}

void MapReader::Read(std::string_view name, bool& out) {
  const Value value = Scalar(name);
  if (value.node == nullptr) return;
  const absl::StatusOr<bool> parsed = ScalarToBoolean(*value.node);
  if (Accept(value, parsed.status())) out = *parsed;
}

void MapReader::Read(std::string_view name, int& out) {
  const Value value = Scalar(name);
  if (value.node == nullptr) return;
  const absl::StatusOr<int64_t> parsed = CheckedInteger(*value.key, *value.node);
  if (Accept(value, parsed.status())) out = static_cast<int>(*parsed);
}

void MapReader::Read(std::string_view name, uint32_t& out) {
  const Value value = Scalar(name);
  if (value.node == nullptr) return;
  const absl::StatusOr<int64_t> parsed = CheckedInteger(*value.key, *value.node);
  if (Accept(value, parsed.status())) out = static_cast<uint32_t>(*parsed);
}

void MapReader::Read(std::string_view name, double& out) {
  const Value value = Scalar(name);
  if (value.node == nullptr) return;
  const absl::StatusOr<double> parsed = CheckedNumber(*value.key, *value.node);
  if (Accept(value, parsed.status())) out = *parsed;
}

void MapReader::Read(std::string_view name, Bytes& out) {
  const Value value = Scalar(name);
  if (value.node == nullptr) return;
  const absl::StatusOr<Bytes> parsed = CheckedBytes(*value.key, *value.node);
  if (Accept(value, parsed.status())) out = *parsed;
}

void MapReader::Read(std::string_view name, absl::Duration& out) {
  const Value value = Scalar(name);
  if (value.node == nullptr) return;
  const absl::StatusOr<absl::Duration> parsed = CheckedDuration(*value.key, *value.node);
  if (Accept(value, parsed.status())) out = *parsed;
}

void MapReader::Read(std::string_view name, std::optional<HoursOfDay>& out) {
  const Value value = Scalar(name);
  if (value.node == nullptr) return;
  const absl::StatusOr<HoursOfDay> parsed = ParseHoursOfDay(value.node->text);
  if (Accept(value, parsed.status())) out = *parsed;
}

void MapReader::ReadMode(std::string_view name, mode_t& out) {
  const Value value = Scalar(name);
  if (value.node == nullptr) return;
  const absl::StatusOr<mode_t> parsed = ScalarToMode(*value.node);
  if (Accept(value, parsed.status())) out = *parsed;
}

void MapReader::Read(std::string_view name, std::string& out) {
  const Value value = Scalar(name);
  if (value.node == nullptr) return;
  absl::StatusOr<std::string> parsed = CheckedText(*value.key, *value.node, file_.folder, context_);
  if (Accept(value, parsed.status())) out = *std::move(parsed);
}

void MapReader::Read(std::string_view name, std::optional<std::string>& out) {
  std::string text;
  Read(name, text);
  if (!text.empty()) out = std::move(text);
}

std::vector<const YamlNode*> MapReader::Items(std::string_view name) {
  const YamlNode* list = node_.Find(name);
  if (list == nullptr || list->kind == YamlNode::Kind::kEmpty) return {};
  if (list->kind != YamlNode::Kind::kList) {
    Fail(*list, name, absl::StrCat("expected a list, not ", AsAbsl(DescribeKind(*list))));
    return {};
  }
  std::vector<const YamlNode*> items;
  for (const YamlNode& item : list->children) items.push_back(&item);
  return items;
}

void MapReader::Read(std::string_view name, std::vector<std::string>& out) {
  const Key& key = *block_.Find(name);
  std::vector<std::string> texts;
  const std::vector<const YamlNode*> items = Items(name);
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string path = absl::StrCat(AsAbsl(name), "[", i, "]");
    if (!IsScalar(*items[i], path)) continue;
    absl::StatusOr<std::string> text = CheckedText(key, *items[i], file_.folder, context_);
    if (text.ok()) {
      texts.push_back(*std::move(text));
    } else {
      Fail(*items[i], path, std::string(text.status().message()));
    }
  }
  const YamlNode* list = node_.Find(name);
  if (list != nullptr && list->kind == YamlNode::Kind::kList) out = std::move(texts);
}

void MapReader::Read(std::string_view name, std::map<std::string, std::string>& out) {
  const Key& key = *block_.Find(name);
  const YamlNode* table = node_.Find(name);
  if (table == nullptr || table->kind == YamlNode::Kind::kEmpty) return;
  if (table->kind != YamlNode::Kind::kMap) {
    Fail(*table, name, absl::StrCat("expected a map of names, not ", AsAbsl(DescribeKind(*table))));
    return;
  }
  out.clear();
  for (size_t i = 0; i < table->entry_count(); ++i) {
    const YamlNode& entry = table->key(i);
    const std::string path = absl::StrCat(AsAbsl(name), ".", entry.text);
    if (const absl::Status valid = CheckName(entry.text); !valid.ok()) {
      Fail(entry, path, std::string(valid.message()));
    }
    if (!IsScalar(table->value(i), path)) continue;
    absl::StatusOr<std::string> text = CheckedText(key, table->value(i), file_.folder, context_);
    if (text.ok()) {
      out[entry.text] = *std::move(text);
    } else {
      Fail(table->value(i), path, std::string(text.status().message()));
    }
  }
}

std::optional<std::string> MapReader::ReadChoice(std::string_view name) {
  const Value value = Scalar(name);
  if (value.node == nullptr) return std::nullopt;
  const absl::Status status = CheckChoice(*value.key, *value.node);
  if (!Accept(value, status)) return std::nullopt;
  return value.node->text;
}

std::vector<MapReader::ChoiceItem> MapReader::ReadChoices(std::string_view name) {
  const Key& key = *block_.Find(name);
  std::vector<ChoiceItem> choices;
  const std::vector<const YamlNode*> items = Items(name);
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string path = absl::StrCat(AsAbsl(name), "[", i, "]");
    if (!IsScalar(*items[i], path)) continue;
    if (const absl::Status status = CheckChoice(key, *items[i]); status.ok()) {
      choices.push_back({items[i]->text, ItemPlace(name, i, *items[i])});
    } else {
      Fail(*items[i], path, std::string(status.message()));
    }
  }
  return choices;
}

std::optional<MapReader> MapReader::Map(std::string_view name) {
  const YamlNode* map = node_.Find(name);
  if (map == nullptr || map->kind == YamlNode::Kind::kEmpty) return std::nullopt;
  return MapReader(*map, *block_.Find(name)->block, PathOf(name), file_, context_);
}

std::vector<MapReader> MapReader::MapList(std::string_view name) {
  std::vector<MapReader> readers;
  const std::vector<const YamlNode*> items = Items(name);
  readers.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    readers.emplace_back(*items[i], *block_.Find(name)->block,
                         absl::StrCat(PathOf(name), "[", i, "]"), file_, context_);
  }
  return readers;
}

}  // namespace cohost::supervisor
