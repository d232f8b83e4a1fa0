// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/reader/settings_tree.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "supervisor/config/settings_secrets.h"

namespace cohost::supervisor {
namespace {

// Walks the tree; its depth was limited when it was parsed.
class Flattener {
 public:
  Flattener(const std::string& path, const std::string& file, ReadContext& context)
      : path_(path), file_(file), context_(context) {}

  void Walk(const YamlNode& node, const std::string& key) {
    switch (node.kind) {
      case YamlNode::Kind::kEmpty:
        Fail(node, key, "has no value; write \"\" for an empty one");
        break;
      case YamlNode::Kind::kScalar:
        Add(node, key);
        break;
      case YamlNode::Kind::kMap:
        for (size_t i = 0; i < node.entry_count(); ++i) {
          const std::string& name = node.key(i).text;
          if (name.empty()) Fail(node.key(i), key, "a setting needs a name");
          Walk(node.value(i), Join(key, name));
        }
        break;
      case YamlNode::Kind::kList:
        for (size_t i = 0; i < node.children.size(); ++i) {
          Walk(node.children[i], Join(key, absl::StrCat(i)));
        }
        break;
    }
  }

  Settings Take() { return std::move(settings_); }

 private:
  static std::string Join(const std::string& key, const std::string& name) {
    return key.empty() ? name : absl::StrCat(key, ":", name);
  }

  void Add(const YamlNode& node, const std::string& key) {
    const auto [first, added] = lines_.emplace(key, node.line);
    if (!added) {
      Fail(node, key, absl::StrCat("duplicate setting, first on line ", first->second));
      return;
    }
    if (const absl::Status status = CheckReferences(node.text); !status.ok()) {
      Fail(node, key, std::string(status.message()));
    }
    const size_t before = size_;
    size_ += key.size() + node.text.size();
    const bool too_many = settings_.size() == kMaxSettings;
    if (too_many || (before <= kMaxSettingsSize && size_ > kMaxSettingsSize)) {
      Fail(node, "",
           absl::StrCat("a service has at most ", kMaxSettings, " settings of together ",
                        kMaxSettingsSize, " bytes"));
    }
    if (settings_.size() <= kMaxSettings) settings_.emplace_back(key, node.text);
  }

  void Fail(const YamlNode& node, const std::string& key, std::string message) {
    context_.errors.Add({file_, node.line, node.column,
                         key.empty() ? path_ : absl::StrCat(path_, ".", key), std::move(message)});
  }

  const std::string& path_;
  const std::string& file_;
  ReadContext& context_;
  Settings settings_;
  size_t size_ = 0;
  // Line of each key.
  std::map<std::string, int> lines_;
};

}  // namespace

Settings FlattenSettings(const YamlNode& tree, const std::string& path, const std::string& file,
                         ReadContext& context) {
  if (tree.kind != YamlNode::Kind::kMap) {
    context.errors.Add({file, tree.line, tree.column, path, "expected a map of settings"});
    return {};
  }
  Flattener flattener(path, file, context);
  flattener.Walk(tree, "");
  return flattener.Take();
}

}  // namespace cohost::supervisor
