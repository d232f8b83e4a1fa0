// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/reader/group_reader.h"

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "supervisor/config/library_name.h"
#include "supervisor/config/load_class.h"

namespace cohost::supervisor {
namespace {

void ReadSignatures(MapReader& reader, GroupPolicy& policy, std::vector<NamedKey>& places) {
  reader.Read("required_from", policy.signatures_from);
  const std::vector<const YamlNode*> items = reader.Items("required_from");
  // A mistake in one of them was reported: then the two lists differ.
  for (size_t i = 0; i < items.size() && policy.signatures_from.size() == items.size(); ++i) {
    places.push_back({policy.signatures_from[i], reader.ItemPlace("required_from", i, *items[i])});
  }
}

void ReadLibraries(MapReader& reader, DotnetPolicy& policy) {
  if (const auto sharing = reader.ReadChoice("share_libraries")) {
    policy.share_libraries = *sharing == "none"       ? LibrarySharing::kNone
                             : *sharing == "reviewed" ? LibrarySharing::kReviewed
                                                      : LibrarySharing::kListed;
    // Those of group_defaults are for what it says.
    policy.shared_libraries.clear();
  }
  reader.Read("shared_libraries", policy.shared_libraries);
  const std::vector<const YamlNode*> items = reader.Items("shared_libraries");
  // A mistake in one of them was reported: then the two lists differ.
  for (size_t i = 0; i < items.size() && policy.shared_libraries.size() == items.size(); ++i) {
    const absl::StatusOr<LibraryName> name = LibraryName::Parse(items[i]->text);
    if (name.ok()) continue;
    reader.Fail(*items[i], absl::StrCat("shared_libraries[", i, "]"),
                std::string(name.status().message()));
  }
  const bool is_listed = policy.share_libraries == LibrarySharing::kListed;
  const YamlNode* list = reader.node().Find("shared_libraries");
  if (is_listed && items.empty() && policy.shared_libraries.empty()) {
    reader.Fail(list == nullptr ? reader.node() : *list, "shared_libraries",
                "`share_libraries: listed` needs a list; `reviewed` shares what Cohost knows");
  } else if (!is_listed && list != nullptr && !policy.shared_libraries.empty()) {
    reader.Fail(*list, "shared_libraries", "only `share_libraries: listed` has it");
  }
}

// A profile replaces what is inherited of the runtime's costs, its own keys come on top.
void ReadDotnet(MapReader& reader, DotnetPolicy& policy) {
  if (const auto profile = reader.ReadChoice("profile")) {
    const bool diagnostics = policy.diagnostics;
    policy = DotnetPolicy::Of(*profile == "throughput" ? DotnetProfile::kThroughput
                                                       : DotnetProfile::kDensity);
    policy.diagnostics = diagnostics;
  }
  if (const auto gc = reader.ReadChoice("gc")) {
    policy.gc = *gc == "server" ? GarbageCollector::kServer : GarbageCollector::kWorkstation;
  }
  reader.Read("concurrent", policy.concurrent);
  reader.Read("tiered_pgo", policy.tiered_pgo);
  reader.Read("write_xor_execute", policy.write_xor_execute);
  reader.Read("gen0_size", policy.gen0_size);
  reader.Read("conserve_memory", policy.conserve_memory);
  reader.Read("heap_limit", policy.heap_limit);
  reader.Read("invariant_globalization", policy.invariant_globalization);
  ReadLibraries(reader, policy);
  reader.Read("diagnostics", policy.diagnostics);
}

}  // namespace

void ReadPolicy(MapReader& reader, GroupPolicy& policy, PolicyPlaces& places) {
  reader.Read("workers", policy.workers);
  reader.Read("stop_timeout", policy.stop_timeout);
  if (auto identity = reader.Map("identity")) {
    identity->Read("user", policy.identity.user);
    identity->Read("supplementary_groups", policy.identity.supplementary_groups);
  }
  if (auto limits = reader.Map("limits")) {
    limits->Read("memory", policy.limits.memory);
    limits->Read("cpu", policy.limits.cpu);
    limits->Read("tasks", policy.limits.tasks);
    limits->Read("open_files", policy.limits.open_files);
  }
  if (auto recycle = reader.Map("recycle")) recycle->Read("drain_timeout", policy.drain_timeout);
  if (auto health = reader.Map("health")) {
    health->Read("interval", policy.health_interval);
    health->Read("start_timeout", policy.start_timeout);
  }
  if (auto log = reader.Map("log")) {
    log->Read("size", policy.log_size);
    log->Read("files", policy.log_files);
  }
  if (auto signatures = reader.Map("signatures")) {
    ReadSignatures(*signatures, policy, places.signatures_from);
  }
  places.heap_limit = reader.PlaceOf("dotnet");
  if (auto dotnet = reader.Map("dotnet")) {
    ReadDotnet(*dotnet, policy.dotnet);
    places.heap_limit = dotnet->PlaceOf("heap_limit");
  }
}

void ReadGroup(MapReader& reader, DeploymentDraft& draft) {
  Group group;
  GroupPlaces places;
  group.policy = draft.deployment.group_defaults;
  reader.Read("name", group.name);
  places.name = reader.PlaceOf("name");
  if (auto match = reader.Map("match")) {
    for (const MapReader::ChoiceItem& item : match->ReadChoices("class")) {
      group.match.push_back(LoadClassOf(item.text));
      places.match.push_back(item.place);
    }
  }
  ReadPolicy(reader, group.policy, places.policy);
  draft.deployment.groups.push_back(std::move(group));
  draft.groups.push_back(std::move(places));
}

}  // namespace cohost::supervisor
