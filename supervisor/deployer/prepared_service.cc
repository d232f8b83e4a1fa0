// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/prepared_service.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

// Of a signature beside the file that it is for.
constexpr std::string_view kSignatureEnding = ".sig";

// Length before content, so that no two different lists of fields read the same.
void Append(std::string& out, std::string_view field) {
  absl::StrAppend(&out, field.size(), ":");
  out.append(field);
}

void Append(std::string& out, absl::Duration duration) {
  Append(out, absl::FormatDuration(duration));
}

void Append(std::string& out, uint64_t number) { Append(out, absl::StrCat(number)); }

std::string_view FolderPart(std::string_view path) { return path.substr(0, path.rfind('/')); }

std::vector<UsedFile> FilesOfTree(const PreparedService& service) {
  std::vector<UsedFile> files;
  const std::string_view source = FolderPart(service.service.dotnet.app);
  const std::string_view tree = FolderPart(service.module.path);
  for (const TreeEntry& entry : service.tree->entries()) {
    if (entry.type != TreeEntry::Type::kFile || entry.path.ends_with(kSignatureEnding)) continue;
    files.push_back({"app",
                     absl::StrCat(AsAbsl(source), "/", entry.path),
                     {entry.stored_hash,
                      absl::StrCat(AsAbsl(tree), "/", entry.path),
                      entry.size,
                      entry.kind,
                      {}}});
  }
  return files;
}

}  // namespace

std::vector<UsedFile> FilesOf(const PreparedService& service) {
  if (service.tree != nullptr) return FilesOfTree(service);
  std::vector<UsedFile> files = {{"module", service.service.module, service.module}};
  for (const auto& [name, image] : service.data_images) {
    files.push_back(
        {absl::StrCat("data_images.", name), service.service.data_images.at(name), image});
  }
  return files;
}

std::vector<std::string> StoredHashesOf(const PreparedService& service) {
  std::vector<std::string> hashes;
  if (service.tree != nullptr) hashes = service.tree->StoredHashes();
  hashes.push_back(service.module.hash);
  for (const auto& [name, image] : service.data_images) hashes.push_back(image.hash);
  return hashes;
}

namespace {

// What a worker is not told: where the service is placed, and how its sockets are made.
void AppendPlace(const Service& service, std::string& text) {
  Append(text, service.group.value_or(""));
  Append(text, static_cast<uint64_t>(service.load.load_class));
  for (const double number : {service.load.requests_per_second, service.load.cpu}) {
    Append(text, absl::StrCat(number));
  }
  Append(text, service.load.memory.count);
  if (service.load.peak) {
    Append(text,
           absl::StrCat(service.load.peak->begin.minutes, "-", service.load.peak->end.minutes));
  }
  for (const Address& address : service.listen) {
    Append(text, uint64_t{address.mode});
    Append(text, address.owner.value_or(""));
    Append(text, static_cast<uint64_t>(address.backlog));
  }
}

void Append(std::string& out, const Settings& settings) {
  for (const auto& [key, value] : settings) {
    Append(out, key);
    Append(out, value);
  }
}

// What only applications have; nothing for others, whose numbers stay what they were.
void AppendDotnet(const Service& service, const Settings& environment, std::string& text) {
  if (service.runtime != Runtime::kDotnet) return;
  const DotnetService& dotnet = service.dotnet;
  Append(text, std::string_view("dotnet"));
  Append(text, uint64_t{environment.size()});
  Append(text, environment);
  for (const std::vector<std::string>* list : {&dotnet.arguments, &dotnet.persist}) {
    Append(text, uint64_t{list->size()});
    for (const std::string& item : *list) Append(text, item);
  }
  Append(text, dotnet.data_protection_name);
  Append(text, dotnet.isolation ? static_cast<uint64_t>(*dotnet.isolation) + 1 : uint64_t{0});
  if (!dotnet.share_libraries) Append(text, std::string_view("own libraries"));
  for (const Address& address : service.listen) Append(text, address.endpoint);
  // Its tree can be the same with another main assembly.
  Append(text, std::string_view(dotnet.app).substr(dotnet.app.rfind('/') + 1));
}

uint64_t Fingerprint(const PreparedService& prepared, const Settings& settings,
                     const Settings& environment, const std::string& more) {
  const Service& service = prepared.service;
  std::string text = more;
  Append(text, service.name);
  Append(text, static_cast<uint64_t>(service.runtime));
  Append(text, prepared.module.hash);
  for (const auto& [name, image] : prepared.data_images) {
    Append(text, name);
    Append(text, image.hash);
  }
  Append(text, settings);
  for (const Address& address : service.listen) Append(text, address.Key());
  for (const std::string& target : service.warmup) Append(text, target);
  const ServiceLimits& limits = service.limits;
  for (const uint64_t number :
       {uint64_t{limits.concurrency}, uint64_t{limits.queue}, uint64_t{limits.connections},
        limits.header_size.count, limits.body_size.count, limits.memory.count,
        static_cast<uint64_t>(service.instances), uint64_t{service.overlap},
        uint64_t{service.access_log}}) {
    Append(text, number);
  }
  for (const absl::Duration duration :
       {limits.request_timeout, limits.header_timeout, limits.io_timeout, limits.idle_timeout,
        service.health.interval, service.health.timeout}) {
    Append(text, duration);
  }
  Append(text, service.health.path);
  AppendDotnet(service, environment, text);
  Sha256 hash;
  hash.Update(text);
  const Sha256Digest digest = hash.Finish();
  uint64_t revision = 0;
  std::memcpy(&revision, digest.data(), sizeof revision);
  // 0 means "none" in the protocols.
  return revision == 0 ? 1 : revision;
}

}  // namespace

uint64_t ServiceRevision(const PreparedService& service) {
  // Nothing for all others, whose numbers stay what they were.
  std::string more;
  if (!service.hosting.solo_because.empty()) Append(more, std::string_view("solo"));
  for (const std::string& path : service.shared_libraries) Append(more, path);
  return Fingerprint(service, service.settings, service.environment, more);
}

uint64_t SourceFingerprint(const PreparedService& service) {
  std::string place;
  AppendPlace(service.service, place);
  return Fingerprint(service, service.service.settings, service.service.dotnet.environment, place);
}

ServiceFiles HashesOf(const PreparedService& service) {
  ServiceFiles files;
  files.module = service.module.hash;
  for (const auto& [name, image] : service.data_images) files.data_images[name] = image.hash;
  return files;
}

}  // namespace cohost::supervisor
