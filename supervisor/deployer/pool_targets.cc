// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/pool_targets.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"
#include "supervisor/dotnet/runtime_environment.h"

namespace cohost::supervisor {
namespace {

std::string DataFolderOf(const PreparedDeployment& prepared, const std::string& service) {
  return absl::StrCat(prepared.deployment.host.state_dir, "/data/", service);
}

std::shared_ptr<const ServiceTarget> MakeServiceTarget(const PreparedDeployment& prepared,
                                                       const PreparedService& service,
                                                       const ListenerSet& listeners, uint64_t id) {
  auto target = std::make_shared<ServiceTarget>();
  target->id = id;
  target->revision = service.revision;
  target->name = service.service.name;
  target->runtime = service.service.runtime;
  target->module_path = service.module.path;
  for (const auto& [name, image] : service.data_images) target->data_images[name] = image.path;
  target->settings = service.settings;
  target->limits = service.service.limits;
  target->health = service.service.health;
  target->warmup = service.service.warmup;
  for (size_t i = 0; i < service.service.listen.size(); ++i) {
    const Listener* listener =
        listeners.Find(ListenerKey(service.service.listen[i], service.service.name, i));
    if (listener != nullptr) {
      target->listeners.push_back(
          {listener->address.text, listener->fd.get(), service.service.listen[i].endpoint});
    }
  }
  target->instances = service.service.instances;
  target->overlap = service.service.overlap;
  target->access_log = service.service.access_log;
  target->data_folder = DataFolderOf(prepared, service.service.name);
  const DotnetService& dotnet = service.service.dotnet;
  target->environment = service.environment;
  target->arguments = dotnet.arguments;
  target->data_protection_name = dotnet.data_protection_name;
  target->isolation = service.hosting.isolation;
  target->shared_libraries = service.shared_libraries;
  return target;
}

// All services of a group need the same.
const std::string& DotnetRootOf(const PreparedDeployment& prepared, const PlacedGroup& group) {
  if (!group.services.empty()) {
    const std::string& own = prepared.services.at(group.services.front().name).hosting.root;
    if (!own.empty()) return own;
  }
  return prepared.dotnet_root;
}

}  // namespace

const ProcessIdentity& IdentityOf(const PreparedDeployment& prepared, const PlacedGroup& group) {
  const auto found = prepared.identities.find(group.name);
  return group.declared && found != prepared.identities.end() ? found->second
                                                              : prepared.default_identity;
}

const GroupPolicy& PolicyOf(const PreparedDeployment& prepared, const PlacedGroup& group) {
  for (const Group& declared : prepared.deployment.groups) {
    if (group.declared && declared.name == group.name) return declared.policy;
  }
  return prepared.deployment.group_defaults;
}

std::vector<WantedListener> WantedListeners(const PreparedDeployment& prepared,
                                            const Placement& placement,
                                            const std::set<std::string>& stopped) {
  std::vector<WantedListener> wanted;
  const Host& host = prepared.deployment.host;
  wanted.push_back({ListenerKey(host.admin, kAdminListener, 0), host.admin, std::nullopt});
  if (host.metrics) {
    wanted.push_back(
        {ListenerKey(*host.metrics, kMetricsListener, 0), *host.metrics, std::nullopt});
  }
  for (const PlacedGroup& group : placement.groups) {
    for (const PlacedService& placed : group.services) {
      if (stopped.contains(placed.name)) continue;
      const Service& service = prepared.services.at(placed.name).service;
      for (size_t i = 0; i < service.listen.size(); ++i) {
        wanted.push_back({ListenerKey(service.listen[i], service.name, i), service.listen[i],
                          IdentityOf(prepared, group).uid});
      }
    }
  }
  return wanted;
}

PoolTarget MakePoolTarget(const PreparedDeployment& prepared, const Placement& placement,
                          const std::set<std::string>& stopped, const ListenerSet& listeners,
                          ServiceIds& ids) {
  PoolTarget target;
  for (const PlacedGroup& group : placement.groups) {
    GroupTarget& out = target.groups.emplace_back();
    out.name = group.name;
    out.policy = PolicyOf(prepared, group);
    out.identity = IdentityOf(prepared, group);
    if (group.runtime == Runtime::kDotnet) {
      out.environment = DotnetEnvironment(out.policy, DotnetRootOf(prepared, group));
      out.diagnostics = out.policy.dotnet.diagnostics;
    }
    for (const PlacedService& placed : group.services) {
      const uint64_t id = ids.Assign(placed.name);
      if (stopped.contains(placed.name)) continue;
      out.services.push_back(
          MakeServiceTarget(prepared, prepared.services.at(placed.name), listeners, id));
    }
    // A group that nobody uses now needs no worker.
    if (out.services.empty()) target.groups.pop_back();
  }
  return target;
}

void AddCanary(const PreparedDeployment& prepared, const PreparedService& canary,
               const ListenerSet& listeners, const ServiceIds& ids, PoolTarget& target) {
  const uint64_t id = ids.ids.at(canary.service.name);
  for (GroupTarget& group : target.groups) {
    for (auto& service : group.services) {
      if (service->id != id) continue;
      group.before_canary = service;
      service = MakeServiceTarget(prepared, canary, listeners, id);
    }
  }
}

absl::Status MakeDataFolders(const PreparedDeployment& prepared, const Placement& placement) {
  for (const PlacedGroup& group : placement.groups) {
    const ProcessIdentity& identity = IdentityOf(prepared, group);
    for (const PlacedService& placed : group.services) {
      // Those of applications were made with their trees, for more than one to write.
      if (group.runtime == Runtime::kDotnet) continue;
      const std::string folder = DataFolderOf(prepared, placed.name);
      COHOST_RETURN_IF_ERROR(MakeFolders(folder, 0750));
      if (identity.uid && chown(folder.c_str(), *identity.uid, identity.gid.value_or(-1)) != 0) {
        return ErrnoStatus(errno, "chown", folder);
      }
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> AddressesOf(const Service& service, const ListenerSet& listeners) {
  std::vector<std::string> addresses;
  for (size_t i = 0; i < service.listen.size(); ++i) {
    const Listener* listener = listeners.Find(ListenerKey(service.listen[i], service.name, i));
    addresses.push_back(listener != nullptr ? listener->address.text : service.listen[i].text);
  }
  return addresses;
}

}  // namespace cohost::supervisor
