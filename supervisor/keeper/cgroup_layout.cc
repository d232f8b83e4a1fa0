// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/cgroup_layout.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/strings.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

constexpr std::array<std::string_view, 4> kV1Controllers = {"memory", "cpu", "pids", "freezer"};

struct Mount {
  std::string root;   // which part of the hierarchy is mounted
  std::string point;  // where
  bool v2 = false;
  std::vector<std::string> options;  // for v1 the controllers are among them
};

std::vector<Mount> ParseMounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (const absl::string_view line : absl::StrSplit(AsAbsl(mountinfo), '\n')) {
    const std::vector<std::string> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<std::string> left = absl::StrSplit(halves[0], ' ');
    const std::vector<std::string> right = absl::StrSplit(halves[1], ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    if (right[0] != "cgroup" && right[0] != "cgroup2") continue;
    mounts.push_back({left[3], left[4], right[0] == "cgroup2", absl::StrSplit(right[2], ',')});
  }
  return mounts;
}

// Path of this process's group for a controller ("" is version 2).
std::optional<std::string> OwnPath(std::string_view own_groups, std::string_view controller) {
  for (const absl::string_view line : absl::StrSplit(AsAbsl(own_groups), '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    for (const absl::string_view name : absl::StrSplit(parts[1], ',')) {
      if (AsStd(name) == controller) return parts[2];
    }
  }
  return std::nullopt;
}

// The folder of `path` under `mount`; none when the mount does not show it (another namespace).
std::optional<std::string> FolderUnder(const Mount& mount, std::string path) {
  if (mount.root != "/") {
    if (!absl::StartsWith(path, mount.root)) return std::nullopt;
    path = path.substr(mount.root.size());
  }
  if (absl::StartsWith(path, "/..")) return std::nullopt;
  if (path == "/") path.clear();
  return mount.point + path;
}

bool HasControllers(const std::string& folder) {
  const auto text = ReadRegularFile(folder + "/cgroup.controllers", KiB(4));
  return text.ok() && (absl::StrContains(*text, "memory") || absl::StrContains(*text, "pids"));
}

}  // namespace

CgroupLayout ParseCgroupLayout(std::string_view mountinfo, std::string_view own_groups,
                               bool (*v2_has_controllers)(const std::string& folder)) {
  CgroupLayout layout;
  const std::vector<Mount> mounts = ParseMounts(mountinfo);
  for (const Mount& mount : mounts) {
    if (!mount.v2) continue;
    const auto path = OwnPath(own_groups, "");
    const auto folder = path ? FolderUnder(mount, *path) : std::nullopt;
    if (!folder || !v2_has_controllers(*folder)) continue;
    layout.kind = CgroupLayout::Kind::kV2;
    layout.controllers = {{"", *folder}};
    return layout;
  }
  for (const std::string_view controller : kV1Controllers) {
    const auto path = OwnPath(own_groups, controller);
    if (!path) continue;
    for (const Mount& mount : mounts) {
      const bool has =
          std::find(mount.options.begin(), mount.options.end(), controller) != mount.options.end();
      const auto folder = !mount.v2 && has ? FolderUnder(mount, *path) : std::nullopt;
      if (!folder) continue;
      layout.kind = CgroupLayout::Kind::kV1;
      layout.controllers.push_back({std::string(controller), *folder});
      break;
    }
  }
  return layout;
}

CgroupLayout ReadCgroupLayout() {
  const auto mountinfo = ReadRegularFile("/proc/self/mountinfo", MiB(4));
  const auto own_groups = ReadRegularFile("/proc/self/cgroup", KiB(64));
  // Without /proc there are no groups to find: the same as a machine without any.
  if (!mountinfo.ok() || !own_groups.ok()) return {};
  return ParseCgroupLayout(*mountinfo, *own_groups, &HasControllers);
}

std::string CgroupFolderName(std::string_view prefix, std::string_view process_name) {
  std::string folder(prefix);
  for (const char c : process_name) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_') {
      folder += c;
    } else if (c == '/') {
      folder += '.';
    } else {
      absl::StrAppendFormat(&folder, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return folder;
}

}  // namespace cohost::supervisor
