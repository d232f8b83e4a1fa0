// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace cohost::supervisor {

// The keys of a deployment file, as data: the parser, the JSON Schema and the reference are all
// made from this table. A key's default value is that of deployment.h; the text here is for
// readers, and a test compares the two.

enum class KeyType {
  kText,       // one line of text
  kName,       // [A-Za-z0-9_][A-Za-z0-9_.-]{0,62}
  kBoolean,    // true or false
  kInteger,    // decimal
  kNumber,     // decimal, with or without a fraction
  kBytes,      // 256Mi
  kDuration,   // 30s
  kHours,      // 09:00-18:00
  kMode,       // "0660"
  kFolder,     // path, relative to the file that names it
  kFile,       // path of an existing regular file, relative to the file that names it
  kTarget,     // /path of a request
  kUser,       // an existing user
  kUserGroup,  // an existing group of users
  kGlob,       // path with * and ?, relative to the file that names it
  kChoice,     // one of `choices`
  kAddress,    // http://HOST:PORT or http+unix:/path
  kEndpoint,   // the host's own: HOST:PORT or http://HOST:PORT
  kSocket,     // the host's own: unix:/path
  kSettings,   // a tree of scalars
  kMap,        // the keys of `block`
};

// How many values a key takes.
enum class Shape {
  kOne,
  kList,
  kTable,  // a map from free names to values
};

// kReserved: of a later capability, refused with "not in this version".
enum class KeyState { kOptional, kRequired, kReserved };

struct Block;

struct Key {
  std::string_view name = {};
  KeyType type = KeyType::kText;
  Shape shape = Shape::kOne;
  KeyState state = KeyState::kOptional;
  // As it would be written; empty: nothing, or what `doc` says.
  std::string_view default_text = {};
  // Allowed range, both inclusive, as it would be written; empty: the type's own.
  std::string_view least = {};
  std::string_view most = {};
  // kChoice: separated by '|'. Reserved ones are known, and refused in this version.
  std::string_view choices = {};
  std::string_view reserved_choices = {};
  // kMap
  const Block* block = nullptr;
  // Of services: the one runtime that it is for; empty: all. kRequired holds for its services only.
  std::string_view runtime = {};
  // A sentence or two for the reference.
  std::string_view doc = {};
  // A valid value, not the default, as YAML; for the tests and the schema. Empty for kMap.
  std::string_view example = {};
};

// The keys of one map.
struct Block {
  // Where it stands: "services[].limits".
  std::string_view title = {};
  std::string_view doc = {};
  std::span<const Key> keys;
  // Its keys belong here too, and its text describes them.
  const Block* base = nullptr;

  // Its own keys, then those of `base`.
  std::vector<const Key*> AllKeys() const;
  // Null when unknown.
  const Key* Find(std::string_view name) const;
  // The known key that `name` was probably meant to be; null when none is near.
  const Key* Nearest(std::string_view name) const;
};

// The whole file.
extern const Block kRootBlock;
// An included file.
extern const Block kIncludedBlock;
extern const Block kGroupBlock;
extern const Block kGroupDefaultsBlock;
extern const Block kServiceBlock;
// The map form of an entry of services[].listen.
extern const Block kListenBlock;
// All blocks in the order of the reference.
std::vector<const Block*> AllBlocks();

}  // namespace cohost::supervisor
