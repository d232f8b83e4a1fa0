// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/deployment_difference.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "supervisor/ctl/cells.h"
#include "supervisor/ctl/table.h"

namespace cohost::supervisor {
namespace {

std::string HashIn(const FileHashes& files, const std::string& service, const std::string& image) {
  const auto found = files.find({service, image});
  return found == files.end() ? "" : found->second;
}

template <typename Item>
std::map<std::string, const Item*> ByName(const std::vector<Item>& items) {
  std::map<std::string, const Item*> by_name;
  for (const Item& item : items) by_name[item.name] = &item;
  return by_name;
}

// Calls `added`, `removed` or `both` for every name.
template <typename Item, typename Added, typename Removed, typename Both>
void Match(const std::vector<Item>& before, const std::vector<Item>& after, Added added,
           Removed removed, Both both) {
  const auto old_items = ByName(before);
  const auto new_items = ByName(after);
  for (const auto& [name, item] : old_items) {
    if (!new_items.contains(name)) removed(*item);
  }
  for (const auto& [name, item] : new_items) {
    const auto old_item = old_items.find(name);
    old_item == old_items.end() ? added(*item) : both(*old_item->second, *item);
  }
}

// The keys of everything but the files.
std::vector<std::string> ChangedKeys(const Service& before, const Service& after) {
  std::vector<std::string> keys;
  const auto compare = [&](const char* key, const auto& a, const auto& b) {
    if (!(a == b)) keys.emplace_back(key);
  };
  compare("description", before.description, after.description);
  compare("runtime", before.runtime, after.runtime);
  compare("listen", before.listen, after.listen);
  compare("group", before.group, after.group);
  compare("load", before.load, after.load);
  compare("limits", before.limits, after.limits);
  compare("health", before.health, after.health);
  compare("warmup", before.warmup, after.warmup);
  compare("settings", before.settings, after.settings);
  compare("instances", before.instances, after.instances);
  compare("overlap", before.overlap, after.overlap);
  compare("access_log", before.access_log, after.access_log);
  return keys;
}

std::string Line(char sign, const ServiceDifference& service) {
  std::vector<std::string> parts;
  if (service.hash_before.empty()) {
    parts.push_back(absl::StrCat("module ", ShortHash(service.hash_after)));
  } else if (!service.hash_after.empty() && service.hash_before != service.hash_after) {
    parts.push_back(absl::StrCat("module ", ShortHash(service.hash_before), " -> ",
                                 ShortHash(service.hash_after)));
  }
  parts.insert(parts.end(), service.keys.begin(), service.keys.end());
  // Names of data images can hold anything.
  return Paint(absl::StrCat(std::string(1, sign), " ", service.name, parts.empty() ? "" : "  ",
                            absl::StrJoin(parts, ", ")),
               Tone::kPlain, /*colour=*/false) +
         "\n";
}

}  // namespace

bool DeploymentDifference::empty() const {
  return added.empty() && removed.empty() && changed.empty() && groups_added.empty() &&
         groups_removed.empty() && groups_changed.empty() && !grouping && !group_defaults;
}

DeploymentDifference DifferenceBetween(const Deployment& before, const FileHashes& files_before,
                                       const Deployment& after, const FileHashes& files_after) {
  DeploymentDifference out;
  Match(
      before.services, after.services,
      [&](const Service& service) {
        out.added.push_back({service.name, "", HashIn(files_after, service.name, ""), {}});
      },
      [&](const Service& service) {
        out.removed.push_back({service.name, HashIn(files_before, service.name, ""), "", {}});
      },
      [&](const Service& a, const Service& b) {
        ServiceDifference both{a.name, HashIn(files_before, a.name, ""),
                               HashIn(files_after, a.name, ""), ChangedKeys(a, b)};
        std::map<std::string, std::string> images = a.data_images;
        images.insert(b.data_images.begin(), b.data_images.end());
        for (const auto& [image, path] : images) {
          if (HashIn(files_before, a.name, image) != HashIn(files_after, a.name, image)) {
            both.keys.push_back(absl::StrCat("data_images.", image));
          }
        }
        if (both.hash_before != both.hash_after || !both.keys.empty()) {
          out.changed.push_back(std::move(both));
        }
      });
  Match(
      before.groups, after.groups,
      [&](const Group& group) { out.groups_added.push_back(group.name); },
      [&](const Group& group) { out.groups_removed.push_back(group.name); },
      [&](const Group& a, const Group& b) {
        if (!(a == b)) out.groups_changed.push_back(a.name);
      });
  out.grouping = !(before.grouping == after.grouping);
  out.group_defaults = !(before.group_defaults == after.group_defaults);
  return out;
}

std::string DifferenceText(const DeploymentDifference& difference) {
  std::string text;
  for (const ServiceDifference& service : difference.added) text += Line('+', service);
  for (const ServiceDifference& service : difference.removed) text += Line('-', service);
  for (const ServiceDifference& service : difference.changed) text += Line('~', service);
  const auto groups = [&](char sign, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      absl::StrAppend(&text, std::string(1, sign), " group ", name, "\n");
    }
  };
  groups('+', difference.groups_added);
  groups('-', difference.groups_removed);
  groups('~', difference.groups_changed);
  if (difference.grouping) text += "~ grouping\n";
  if (difference.group_defaults) text += "~ group_defaults\n";
  return text;
}

}  // namespace cohost::supervisor
