// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/reader/deployment_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "supervisor/config/address_text.h"
#include "supervisor/config/reader/group_reader.h"
#include "supervisor/config/reader/service_reader.h"

namespace cohost::supervisor {
namespace {

// An address of the host's own, in the form that `parse` reads.
template <typename Parse>
bool ReadOwnAddress(MapReader& reader, Parse parse, Address& out) {
  std::string text;
  reader.Read("listen", text);
  if (text.empty()) return false;
  absl::StatusOr<Address> address = parse(text);
  if (!address.ok()) {
    reader.Fail(*reader.node().Find("listen"), "listen", std::string(address.status().message()));
    return false;
  }
  out = *std::move(address);
  return true;
}

void ReadHostDotnet(MapReader& reader, Host& host) {
  reader.Read("root", host.dotnet_root);
  reader.Read("crossgen", host.crossgen);
  if (const auto precompile = reader.ReadChoice("precompile")) {
    host.precompilation = *precompile == "off"       ? Precompilation::kOff
                          : *precompile == "present" ? Precompilation::kPresent
                                                     : Precompilation::kRestore;
  }
}

void ReadHost(MapReader& reader, DeploymentDraft& draft) {
  Host& host = draft.deployment.host;
  reader.Read("runtime_dir", host.runtime_dir);
  reader.Read("state_dir", host.state_dir);
  if (auto admin = reader.Map("admin")) {
    draft.admin_given = ReadOwnAddress(*admin, ParseSocket, host.admin);
    draft.admin = admin->PlaceOf("listen");
  }
  if (auto metrics = reader.Map("metrics")) {
    Address address;
    if (ReadOwnAddress(*metrics, ParseEndpoint, address)) host.metrics = std::move(address);
    draft.metrics = metrics->PlaceOf("listen");
  }
  reader.Read("signing_keys", host.signing_keys);
  draft.signing_keys = reader.PlaceOf("signing_keys");
  if (auto dotnet = reader.Map("dotnet")) ReadHostDotnet(*dotnet, host);
}

void ReadGrouping(MapReader& reader, Grouping& grouping) {
  if (const auto strategy = reader.ReadChoice("strategy")) {
    grouping.strategy = *strategy == "declared" ? Strategy::kDeclared : Strategy::kLoadProfile;
  }
  reader.Read("max_services_per_worker", grouping.max_services_per_worker);
  reader.Read("worker_memory", grouping.worker_memory);
  reader.Read("worker_cpu", grouping.worker_cpu);
}

void ReadGroupsAndServices(MapReader& reader, DeploymentDraft& draft) {
  for (MapReader& group : reader.MapList("groups")) ReadGroup(group, draft);
  for (MapReader& service : reader.MapList("services")) ReadService(service, draft);
}

bool CheckNotEmpty(const YamlNode& root, const SourceFile& file, ReadContext& context) {
  if (root.kind != YamlNode::Kind::kEmpty) return true;
  context.errors.Add(
      {.file = file.name, .line = 1, .column = 1, .message = "the file says nothing"});
  return false;
}

}  // namespace

void ReadDeploymentFile(const YamlNode& root, const SourceFile& file, ReadContext& context,
                        DeploymentDraft& draft) {
  if (!CheckNotEmpty(root, file, context)) return;
  MapReader reader(root, kRootBlock, "", file, context);
  if (root.kind != YamlNode::Kind::kMap) return;
  int version = 1;
  reader.Read("version", version);
  if (auto host = reader.Map("host")) ReadHost(*host, draft);
  if (auto grouping = reader.Map("grouping")) ReadGrouping(*grouping, draft.deployment.grouping);
  if (auto defaults = reader.Map("group_defaults")) {
    ReadPolicy(*defaults, draft.deployment.group_defaults, draft.defaults);
    draft.defaults_memory = defaults->PlaceOf("limits");
  }
  ReadGroupsAndServices(reader, draft);
  std::vector<std::string> patterns;
  reader.Read("include", patterns);
  const std::vector<const YamlNode*> items = reader.Items("include");
  // A mistake in one of them was reported: then the two lists differ.
  for (size_t i = 0; i < patterns.size() && patterns.size() == items.size(); ++i) {
    draft.includes.push_back({patterns[i], reader.ItemPlace("include", i, *items[i])});
  }
}

void ReadIncludedFile(const YamlNode& root, const SourceFile& file, ReadContext& context,
                      DeploymentDraft& draft) {
  if (!CheckNotEmpty(root, file, context)) return;
  MapReader reader(root, kIncludedBlock, "", file, context);
  if (root.kind != YamlNode::Kind::kMap) return;
  ReadGroupsAndServices(reader, draft);
}

}  // namespace cohost::supervisor
