// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/reader/service_reader.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "supervisor/config/address_text.h"
#include "supervisor/config/load_class.h"
#include "supervisor/config/reader/dotnet_reader.h"
#include "supervisor/config/reader/settings_tree.h"
#include "supervisor/config/reader/value_check.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kNative = "native";
constexpr std::string_view kDotnet = "dotnet";
// Shorter is no time at all for a request.
constexpr absl::Duration kLeastRequestTimeout = absl::Milliseconds(1);

// Empty: it is none of ours, which was reported; then nothing is said about keys of runtimes.
std::string_view ReadRuntime(MapReader& reader) {
  if (!reader.Has("runtime")) return kNative;
  const auto runtime = reader.ReadChoice("runtime");
  if (!runtime.has_value()) return "";
  return *runtime == kDotnet ? kDotnet : kNative;
}

void CheckRuntime(MapReader& reader, std::string_view runtime) {
  if (!runtime.empty()) reader.CheckRuntime(runtime);
}

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

void ReadLimits(MapReader& reader, std::string_view runtime, ServiceLimits& limits) {
  CheckRuntime(reader, runtime);
  reader.Read("concurrency", limits.concurrency);
  reader.Read("queue", limits.queue);
  reader.Read("request_timeout", limits.request_timeout);
  const bool may_be_none = runtime != kNative && limits.request_timeout == absl::ZeroDuration();
  if (limits.request_timeout < kLeastRequestTimeout && !may_be_none) {
    reader.Fail(*reader.node().Find("request_timeout"), "request_timeout", "must be at least 1ms");
  }
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

std::optional<Address> ReadAddressMap(MapReader& reader, std::string_view runtime) {
  CheckRuntime(reader, runtime);
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
  reader.Read("endpoint", read.endpoint);
  if (!address.has_value()) return std::nullopt;
  for (const std::string_view key : {"mode", "owner"}) {
    const YamlNode* value = reader.node().Find(key);
    if (value == nullptr || address->kind == Address::Kind::kUnix) continue;
    reader.Fail(*value, key, "only unix sockets have one");
  }
  address->mode = read.mode;
  address->owner = std::move(read.owner);
  address->backlog = read.backlog;
  address->endpoint = std::move(read.endpoint);
  return address;
}

void ReadListen(MapReader& reader, std::string_view runtime, Service& service,
                ServicePlaces& places) {
  const std::vector<const YamlNode*> items = reader.Items("listen");
  for (size_t i = 0; i < items.size(); ++i) {
    const Place place = reader.ItemPlace("listen", i, *items[i]);
    std::optional<Address> address;
    if (items[i]->kind == YamlNode::Kind::kMap) {
      MapReader map(*items[i], kListenBlock, place.key_path, reader.file(), reader.context());
      address = ReadAddressMap(map, runtime);
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

// What one service listens on, is placed by and may use.
void ReadUse(MapReader& reader, std::string_view runtime, Service& service, ServicePlaces& places) {
  ReadListen(reader, runtime, service, places);
  places.load_class = places.load_memory = places.load_cpu = reader.PlaceOf("load");
  if (auto load = reader.Map("load")) ReadLoad(*load, service.load, places);
  if (auto limits = reader.Map("limits")) {
    ReadLimits(*limits, runtime, service.limits);
    places.limits_memory = limits->PlaceOf("memory");
  }
  if (auto health = reader.Map("health")) {
    health->Read("path", service.health.path);
    health->Read("interval", service.health.interval);
    health->Read("timeout", service.health.timeout);
  }
}

}  // namespace

void ReadService(MapReader& reader, DeploymentDraft& draft) {
  Service service;
  ServicePlaces places;
  reader.Read("name", service.name);
  reader.Read("description", service.description);
  const std::string_view runtime = ReadRuntime(reader);
  CheckRuntime(reader, runtime);
  if (runtime == kDotnet) {
    service.runtime = Runtime::kDotnet;
    service.instances = Instances::kOne;
    service.limits.request_timeout = absl::ZeroDuration();
    ReadDotnet(reader, service.dotnet);
  }
  reader.Read("module", service.module);
  reader.Read("data_images", service.data_images);
  reader.Read("group", service.group);
  places.name = reader.PlaceOf("name");
  places.group = reader.PlaceOf("group");
  ReadUse(reader, runtime, service, places);
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
