// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/units.h"
#include "supervisor/config/keys/key_table.h"
#include "supervisor/config/reader/read_context.h"
#include "supervisor/config/yaml/yaml_tree.h"

namespace cohost::supervisor {

// Where something stands, for errors that are found later.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  std::string key_path;
};

// The file that is being read.
struct SourceFile {
  std::string name;    // as it stands in messages
  std::string folder;  // absolute; paths in the file are relative to it
};

// Reads one map of the file, checked against its block of the key table: construction reports
// unknown, reserved and missing keys, each Read() the type and range of one value. A value that is
// absent or wrong leaves its destination as it is. Not thread-safe; node, block, file and context
// outlive it.
class MapReader {
 public:
  MapReader(const YamlNode& node, const Block& block, std::string path, const SourceFile& file,
            ReadContext& context);

  bool Has(std::string_view name) const { return node_.Find(name) != nullptr; }

  void Read(std::string_view name, bool& out);
  void Read(std::string_view name, int& out);
  void Read(std::string_view name, uint32_t& out);
  void Read(std::string_view name, double& out);
  void Read(std::string_view name, Bytes& out);
  void Read(std::string_view name, absl::Duration& out);
  void Read(std::string_view name, std::optional<HoursOfDay>& out);
  void Read(std::string_view name, std::string& out);
  void Read(std::string_view name, std::optional<std::string>& out);
  void Read(std::string_view name, std::vector<std::string>& out);
  void Read(std::string_view name, std::map<std::string, std::string>& out);
  void ReadMode(std::string_view name, mode_t& out);
  // kChoice: the text of the choice is passed on only when it is one of this version.
  std::optional<std::string> ReadChoice(std::string_view name);
  struct ChoiceItem {
    std::string text;
    Place place;
  };
  std::vector<ChoiceItem> ReadChoices(std::string_view name);

  // Reports keys that are for another runtime than the service's, and those that its runtime
  // demands and that are missing.
  void CheckRuntime(std::string_view runtime);

  // Readers of maps inside this one; none when the key is absent.
  std::optional<MapReader> Map(std::string_view name);
  std::vector<MapReader> MapList(std::string_view name);

  // The items of a list; none when the key is absent or something else (reported).
  std::vector<const YamlNode*> Items(std::string_view name);

  void Fail(const YamlNode& node, std::string_view key, std::string message);
  // Of the value of a key; of the map itself when the key is absent.
  Place PlaceOf(std::string_view name) const;
  Place ItemPlace(std::string_view name, size_t index, const YamlNode& item) const;

  const YamlNode& node() const { return node_; }
  const SourceFile& file() const { return file_; }
  ReadContext& context() { return context_; }

 private:
  struct Value {
    const Key* key = nullptr;
    const YamlNode* node = nullptr;
  };
  void CheckKeys();
  void Require(const Key& key);
  void CheckKey(const YamlNode& key, const YamlNode& value);
  std::string PathOf(std::string_view name) const;
  // The scalar of a key; no node when absent or no scalar (reported).
  Value Scalar(std::string_view name);
  // Whether the node is a scalar with a text; reported when not.
  bool IsScalar(const YamlNode& node, std::string_view path);
  // Reports an error status.
  bool Accept(const Value& value, const absl::Status& status);

  // Set in the constructor, never changed.
  const YamlNode& node_;
  const Block& block_;
  const std::string path_;
  const SourceFile& file_;
  ReadContext& context_;
};

}  // namespace cohost::supervisor
