// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/reader/dotnet_reader.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "supervisor/config/reader/settings_tree.h"
#include "supervisor/modules/tree/persist_rules.h"

namespace cohost::supervisor {
namespace {

// A map of single values: a tree would give names that no shell and no application writes.
void ReadEnvironment(MapReader& reader, Settings& environment) {
  const YamlNode* map = reader.node().Find("environment");
  if (map == nullptr || map->kind == YamlNode::Kind::kEmpty) return;
  const Place place = reader.PlaceOf("environment");
  bool good = true;
  for (size_t i = 0; map->kind == YamlNode::Kind::kMap && i < map->entry_count(); ++i) {
    const YamlNode& value = map->value(i);
    const std::string& name = map->key(i).text;
    const std::string path = absl::StrCat("environment.", name);
    if (name.find('=') != std::string::npos || name.find('\0') != std::string::npos) {
      reader.Fail(map->key(i), path, "the name of a variable has no '=' and no NUL");
      good = false;
    }
    if (value.kind == YamlNode::Kind::kMap || value.kind == YamlNode::Kind::kList) {
      reader.Fail(value, path, "a variable has one value");
      good = false;
    } else if (value.text.find('\0') != std::string::npos) {
      reader.Fail(value, path, "the value of a variable has no NUL");
      good = false;
    }
  }
  if (!good) return;
  environment = FlattenSettings(*map, place.key_path, place.file, reader.context());
}

}  // namespace

void ReadDotnet(MapReader& reader, DotnetService& service) {
  reader.Read("app", service.app);
  if (!service.app.empty() && !service.app.ends_with(".dll")) {
    reader.Fail(
        *reader.node().Find("app"), "app",
        "the main assembly is a .dll, beside it are its .deps.json and .runtimeconfig.json");
  }
  ReadEnvironment(reader, service.environment);
  reader.Read("arguments", service.arguments);
  reader.Read("persist", service.persist);
  if (const auto rules = PersistRules::Parse(service.persist); !rules.ok()) {
    reader.Fail(*reader.node().Find("persist"), "persist", std::string(rules.status().message()));
  }
  reader.Read("data_protection_name", service.data_protection_name);
  reader.Read("share_libraries", service.share_libraries);
  if (const auto isolation = reader.ReadChoice("isolation")) {
    service.isolation = *isolation == "solo" ? Isolation::kSolo : Isolation::kShared;
  }
}

}  // namespace cohost::supervisor
