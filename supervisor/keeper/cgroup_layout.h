// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cohost::supervisor {

// Where this process may make control groups.
struct CgroupLayout {
  enum class Kind { kNone, kV1, kV2 };
  struct Controller {
    std::string name;    // "memory", "cpu", "pids", "freezer"; empty for v2, which has one tree
    std::string folder;  // this process's own group in it
    bool operator==(const Controller&) const = default;
  };

  Kind kind = Kind::kNone;
  std::vector<Controller> controllers;
};

// From the texts of /proc/self/mountinfo and /proc/self/cgroup. Version 2 counts only when
// `v2_has_controllers` says so of its folder: a hybrid system mounts it empty beside version 1.
CgroupLayout ParseCgroupLayout(std::string_view mountinfo, std::string_view own_groups,
                               bool (*v2_has_controllers)(const std::string& folder));

// The layout of this machine.
CgroupLayout ReadCgroupLayout();

// The name of a group folder for a process: letters, digits, '-' and '_' as they are, '/' as '.',
// all others as %XX. Different names give different folders.
std::string CgroupFolderName(std::string_view prefix, std::string_view process_name);

}  // namespace cohost::supervisor
