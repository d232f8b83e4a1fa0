// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/system/unique_fd.h"
#include "supervisor/keeper/cgroup_layout.h"

namespace cohost::supervisor {

// Limits of a group; 0: none.
struct CgroupLimits {
  uint64_t memory = 0;          // bytes
  uint64_t cpu_millionths = 0;  // of a core
  uint32_t tasks = 0;
};

// The control group of one process and its descendants: one folder (version 2) or one per
// controller (version 1). One thread. Destroying it leaves the folders if they are not empty.
class Cgroup {
 public:
  // Makes the folders that can be made and sets the limits; what could not be done is added to
  // `remarks`, a line each. Null when no folder could be made.
  static std::unique_ptr<Cgroup> Create(const CgroupLayout& layout, const std::string& folder_name,
                                        const CgroupLimits& limits,
                                        std::vector<std::string>& remarks);
  ~Cgroup();
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  // cgroup.procs of every folder, open for writing: a child that writes "0" joins.
  std::vector<int> procs() const;
  void CloseProcs() { procs_.clear(); }

  // Kills every member once. Repeat until Empty: version 1 can miss one that forks meanwhile.
  void KillMembers();
  bool Empty() const;
  // A member was killed for memory since the group was made.
  bool OutOfMemory() const;

 private:
  Cgroup(CgroupLayout::Kind kind, std::vector<CgroupLayout::Controller> folders)
      : kind_(kind), folders_(std::move(folders)) {}
  std::string FolderOf(const std::string& controller) const;
  void SetLimits(const CgroupLimits& limits, std::vector<std::string>& remarks);
  void KillFrozenMembers(const std::string& freezer);

  // Set in the constructor, never changed.
  const CgroupLayout::Kind kind_;
  // Folders of this group by controller; never empty.
  const std::vector<CgroupLayout::Controller> folders_;
  std::vector<UniqueFd> procs_;
};

// Makes a version 2 tree ready for groups with limits: a group with members cannot have controlled
// subgroups, so this process moves into a leaf `leaf_name` of its own and enables the controllers.
// Nothing to do for version 1. Returns what could not be done, empty if all was.
std::string PrepareCgroups(const CgroupLayout& layout, const std::string& leaf_name);

// How the folders of this keeper begin: "cohost.NAMESPACE-PID-START.". No other keeper's do, also
// not those of other pid namespaces that see the same control groups.
std::string OwnCgroupPrefix(SteadyTime start);

// Removes empty groups that keepers of this pid namespace which no longer run have left: a keeper
// that is killed cannot.
void RemoveAbandonedCgroups(const CgroupLayout& layout);

}  // namespace cohost::supervisor
