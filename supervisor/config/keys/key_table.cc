// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/keys/key_table.h"

#include <algorithm>

#include "base/nearest.h"

namespace cohost::supervisor {
namespace {

using enum KeyType;
using enum KeyState;
using enum Shape;

constexpr Key kAdminKeys[] = {
    {.name = "listen",
     .type = kSocket,
     .doc = "Unix socket of the admin API, mode 0600. Default: `admin.sock` in `runtime_dir`.",
     .example = "unix:/run/cohost-example/admin.sock"},
};
constexpr Block kAdmin = {"host.admin", "The operator's interface.", kAdminKeys};

constexpr Key kMetricsKeys[] = {
    {.name = "listen",
     .type = kEndpoint,
     .state = kRequired,
     .doc = "Address of the Prometheus endpoint; without it there is none.",
     .example = "127.0.0.1:9464"},
};
constexpr Block kMetrics = {"host.metrics", "Statistics for Prometheus.", kMetricsKeys};

constexpr Key kHostDotnetKeys[] = {
    {.name = "root",
     .type = kFolder,
     .doc = "Folder with .NET (`host/fxr` and `shared` are in it). Default: `DOTNET_ROOT` of the "
            "host's environment, `/usr/share/dotnet`, `/usr/lib/dotnet`, whichever is there "
            "first.",
     .example = "/opt/dotnet"},
    {.name = "precompile",
     .type = kChoice,
     .default_text = "restore",
     .choices = "off|present|restore",
     .doc =
         "Whether assemblies that an application brings as IL get machine code at `deploy`, "
         "reload and import: `present` by a compiler that is on this machine (`crossgen`, one "
         "that was restored before, NuGet's folder), `restore` also by the package "
         "Microsoft.NETCore.App.Crossgen2 of an ordinary `dotnet restore`, once, which needs the "
         "SDK. Without a compiler, and for what it cannot do, IL stays.",
     .example = "present"},
    {.name = "crossgen",
     .type = kFolder,
     .doc = "Folder of the compiler: `tools` of the package Microsoft.NETCore.App.Crossgen2 of the "
            "version of .NET. Default: it is looked for.",
     .example = "/opt/crossgen2/tools"},
};
constexpr Block kHostDotnet = {"host.dotnet", ".NET on this machine.", kHostDotnetKeys};

constexpr Key kHostKeys[] = {
    {.name = "runtime_dir",
     .type = kFolder,
     .default_text = "/run/cohost",
     .doc = "Lock and admin socket. `--runtime-dir` overrides it; unix sockets that this file puts "
            "below it move along.",
     .example = "/run/cohost-example"},
    {.name = "state_dir",
     .type = kFolder,
     .default_text = "/var/lib/cohost",
     .doc = "State, modules and logs. `--state-dir` overrides it.",
     .example = "/var/lib/cohost-example"},
    {.name = "admin", .type = kMap, .block = &kAdmin, .doc = "The operator's interface."},
    {.name = "metrics", .type = kMap, .block = &kMetrics, .doc = "Statistics for Prometheus."},
    {.name = "signing_keys",
     .type = kFile,
     .shape = kTable,
     .doc = "Public keys (Ed25519, PEM) by the name that `signatures.required_from` uses, at most "
            "32. Read at every start and reload; `cohostctl modules new-key` makes one.",
     .example = "{release: release.pub}"},
    {.name = "dotnet", .type = kMap, .block = &kHostDotnet, .doc = ".NET on this machine."},
};
constexpr Block kHost = {"host", "This machine.", kHostKeys};

constexpr Key kGroupingKeys[] = {
    {.name = "strategy",
     .type = kChoice,
     .default_text = "load_profile",
     .choices = "load_profile|declared",
     .doc =
         "How services that name no group are placed: by their load profile, or not at all (then "
         "each service names its group).",
     .example = "declared"},
    {.name = "max_services_per_worker",
     .type = kInteger,
     .default_text = "16",
     .least = "1",
     .most = "1000",
     .doc = "Most services that placement puts into one derived group.",
     .example = "20"},
    {.name = "worker_memory",
     .type = kBytes,
     .default_text = "256Mi",
     .least = "1Mi",
     .most = "1Ti",
     .doc = "Sum of `load.memory` of the services of one derived group, at most.",
     .example = "512Mi"},
    {.name = "worker_cpu",
     .type = kNumber,
     .default_text = "1.0",
     .least = "0.01",
     .most = "1024",
     .doc =
         "Sum of `load.cpu` of the services of one derived group in any hour of the day, at most, "
         "in cores.",
     .example = "2.5"},
};
constexpr Block kGrouping = {"grouping", "How services that name no group are placed.",
                             kGroupingKeys};

constexpr Key kIncludedKeys[] = {
    {.name = "groups",
     .type = kMap,
     .shape = kList,
     .block = &kGroupBlock,
     .doc = "Declared groups."},
    {.name = "services", .type = kMap, .shape = kList, .block = &kServiceBlock, .doc = "Services."},
};

constexpr Key kRootKeys[] = {
    {.name = "version",
     .type = kInteger,
     .state = kRequired,
     .least = "1",
     .most = "1",
     .doc = "Of this format: 1.",
     .example = "1"},
    {.name = "host", .type = kMap, .block = &kHost, .doc = "This machine."},
    {.name = "grouping",
     .type = kMap,
     .block = &kGrouping,
     .doc = "How services that name no group are placed."},
    {.name = "group_defaults",
     .type = kMap,
     .block = &kGroupDefaultsBlock,
     .doc = "The policy of derived groups, and the defaults of declared ones."},
    {.name = "include",
     .type = kGlob,
     .shape = kList,
     .doc =
         "Further files with `services` and `groups` (and nothing else), relative to this file. A "
         "pattern with `*`, `?` or `[` may match none; another must exist.",
     .example = "[\"services.d/*.yaml\"]"},
    {.name = "modules",
     .type = kSettings,
     .state = kReserved,
     .doc = "Policy of the module store."},
};
}  // namespace

const Block kIncludedBlock = {"included files", "A file that `include` names.", kIncludedKeys};
const Block kRootBlock = {"", "The whole file.", kRootKeys, &kIncludedBlock};

const Key* Block::Find(std::string_view name) const {
  for (const Key& key : keys) {
    if (key.name == name) return &key;
  }
  return base == nullptr ? nullptr : base->Find(name);
}

const Key* Block::Nearest(std::string_view name) const {
  const std::vector<const Key*> all = AllKeys();
  const auto found = FindNearest(all, name, [](const Key* key) { return key->name; });
  return found == all.end() ? nullptr : *found;
}

std::vector<const Key*> Block::AllKeys() const {
  std::vector<const Key*> all;
  for (const Key& key : keys) all.push_back(&key);
  if (base == nullptr) return all;
  for (const Key& key : base->keys) all.push_back(&key);
  return all;
}

namespace {

void AppendBlocks(const Block& block, std::vector<const Block*>& blocks) {
  if (std::find(blocks.begin(), blocks.end(), &block) != blocks.end()) return;
  blocks.push_back(&block);
  for (const Key* key : block.AllKeys()) {
    if (key->block != nullptr) AppendBlocks(*key->block, blocks);
    if (key->type == kAddress) AppendBlocks(kListenBlock, blocks);
  }
}

}  // namespace

std::vector<const Block*> AllBlocks() {
  std::vector<const Block*> blocks;
  AppendBlocks(kRootBlock, blocks);
  return blocks;
}

}  // namespace cohost::supervisor
