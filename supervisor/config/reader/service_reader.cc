// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/reader/service_reader.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "supervisor/config/address_text.h"
#include "supervisor/config/load_class.h"
#include "supervisor/config/reader/settings_tree.h"
#include "supervisor/config/reader/value_check.h"

namespace cohost::supervisor {
namespace {

void ReadLoad(MapReader& reader, LoadProfile& load, ServicePlaces& places) {
  if (const auto text = reader.ReadChoice("class")) load.load_class = LoadClassOf(*text);
  reader.Read("requests_per_second", load.requests_per_second);
  reader.Read("cpu", load.cpu);
  reader.Read("memory", load.memory);
  reader.Read("peak", load.peak);
  places.load_class = reader.PlaceOf("class");
  places.load_memory = reader.PlaceOf("memory");
  places.load_cpu = reader.PlaceOf("cpu");
}

void ReadLimits(MapReader& reader, ServiceLimits& limits) {
  reader.Read("concurrency", limits.concurrency);
  reader.Read("queue", limits.queue);
  reader.Read("request_timeout", limits.request_timeout);
  reader.Read("connections", limits.connections);
  reader.Read("header_size", limits.header_size);
  reader.Read("body_size", limits.body_size);
  reader.Read("header_timeout", limits.header_timeout);
  reader.Read("io_timeout", limits.io_timeout);
  reader.Read("idle_timeout", limits.idle_timeout);
  reader.Read("memory", limits.memory);
}

// The text form, or the address of the map form.
std::optional<Address> ReadAddressText(MapReader& reader, const YamlNode& text,
                                       const std::string& path) {
  if (text.kind != YamlNode::Kind::kScalar) {
    reader.Fail(text, path, absl::StrCat("expected an address, not ", AsAbsl(DescribeKind(text))));
    return std::nullopt;
  }
  absl::StatusOr<Address> address = ParseAddress(text.text);
  if (!address.ok()) {
    reader.Fail(text, path, std::string(address.status().message()));
    return std::nullopt;
  }
  return *std::move(address);
}

std::optional<Address> ReadAddressMap(MapReader& reader) {
  const YamlNode* text = reader.node().Find("address");
  std::optional<Address> address;
  if (text != nullptr && text->kind != YamlNode::Kind::kEmpty) {
    address = ReadAddressText(reader, *text, "address");
  }
  // The other keys are read all the same, so that their mistakes are reported in this run.
  Address read;
  reader.ReadMode("mode", read.mode);
  reader.Read("owner", read.owner);
  reader.Read("backlog", read.backlog);
  if (!address.has_value()) return std::nullopt;
  for (const std::string_view key : {"mode", "owner"}) {
    const YamlNode* value = reader.node().Find(key);
    if (value == nullptr || address->kind == Address::Kind::kUnix) continue;
    reader.Fail(*value, key, "only unix sockets have one");
  }
  address->mode = read.mode;
  address->owner = std::move(read.owner);
  address->backlog = read.backlog;
  return address;
}

void ReadListen(MapReader& reader, Service& service, ServicePlaces& places) {
  const std::vector<const YamlNode*> items = reader.Items("listen");
  for (size_t i = 0; i < items.size(); ++i) {
    const Place place = reader.ItemPlace("listen", i, *items[i]);
    std::optional<Address> address;
    if (items[i]->kind == YamlNode::Kind::kMap) {
      MapReader map(*items[i], kListenBlock, place.key_path, reader.file(), reader.context());
      address = ReadAddressMap(map);
    } else {
      address = ReadAddressText(reader, *items[i], absl::StrCat("listen[", i, "]"));
    }
    if (!address.has_value()) continue;
    service.listen.push_back(*std::move(address));
    places.addresses.push_back(place);
  }
  const YamlNode* list = reader.node().Find("listen");
  if (list != nullptr && list->kind == YamlNode::Kind::kList && items.empty()) {
    reader.Fail(*list, "listen", "a service listens on at least one address");
  }
}

}  // namespace

void ReadService(MapReader& reader, DeploymentDraft& draft) {
  Service service;
  ServicePlaces places;
  reader.Read("name", service.name);
  reader.Read("description", service.description);
  // The only runtime of this version is the default; the others are refused by the key table.
  reader.ReadChoice("runtime");
  reader.Read("module", service.module);
  reader.Read("data_images", service.data_images);
  reader.Read("group", service.group);
  places.name = reader.PlaceOf("name");
  places.group = reader.PlaceOf("group");
  ReadListen(reader, service, places);
  places.load_class = places.load_memory = places.load_cpu = reader.PlaceOf("load");
  if (auto load = reader.Map("load")) ReadLoad(*load, service.load, places);
  if (auto limits = reader.Map("limits")) {
    ReadLimits(*limits, service.limits);
    places.limits_memory = limits->PlaceOf("memory");
  }
  if (auto health = reader.Map("health")) {
    health->Read("path", service.health.path);
    health->Read("interval", service.health.interval);
    health->Read("timeout", service.health.timeout);
  }
  reader.Read("warmup", service.warmup);
  if (const YamlNode* settings = reader.node().Find("settings");
      settings != nullptr && settings->kind != YamlNode::Kind::kEmpty) {
    service.settings = FlattenSettings(*settings, reader.PlaceOf("settings").key_path,
                                       reader.file().name, reader.context());
  }
  if (const auto instances = reader.ReadChoice("instances")) {
    service.instances = *instances == "one" ? Instances::kOne : Instances::kAll;
  }
  reader.Read("overlap", service.overlap);
  reader.Read("access_log", service.access_log);
  draft.deployment.services.push_back(std::move(service));
  draft.services.push_back(std::move(places));
}

}  // namespace cohost::supervisor
