// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/config/config_error.h"

namespace cohost::supervisor {

// A YAML document as written: every scalar is text, nothing is converted. Immutable after parsing.
struct YamlNode {
  enum class Kind : unsigned char {
    kEmpty,  // nothing written: `key:`
    kScalar,
    kMap,
    kList,
  };
  Kind kind = Kind::kEmpty;
  // kScalar: in quotes, or a block (| or >); never a number, boolean or null.
  bool quoted = false;
  // Both from 1, the column in bytes.
  int line = 0;
  int column = 0;
  std::string text;
  // kList: the items. kMap: keys (scalars) and values in turn; no key twice.
  std::vector<YamlNode> children;

  // kMap
  size_t entry_count() const { return children.size() / 2; }
  const YamlNode& key(size_t entry) const { return children[2 * entry]; }
  const YamlNode& value(size_t entry) const { return children[2 * entry + 1]; }
  // Null when absent.
  const YamlNode* Find(std::string_view name) const;
};

// What a file may cost before it is refused. A service takes about 20 nodes, so 10,000 of them fit
// into one file; larger deployments use several.
struct YamlLimits {
  size_t size = size_t{4} << 20;
  // One text, flow collection or run of comments: yaml-cpp's scanner holds all of it, up to 230
  // times its size.
  size_t flow = size_t{128} << 10;
  // yaml-cpp recurses once a level; our deepest own key is at 5, the rest is for settings.
  size_t depth = 32;
  // 72 bytes each: under 40 MB while the largest tree grows.
  size_t nodes = 250'000;
};

// Parses one document. Refuses what a deployment does not need and hostile files use: anchors,
// aliases, merge keys, tags, keys that are not scalars, duplicate keys, a second document, NUL
// bytes, invalid UTF-8, and whatever exceeds the limits. A byte order mark and CRLF are accepted.
// Every mistake goes to `errors` with `file`; the tree is then not to be used. kEmpty: there is no
// document.
YamlNode ParseYaml(std::string_view text, const std::string& file, const YamlLimits& limits,
                   ConfigErrors& errors);

}  // namespace cohost::supervisor
