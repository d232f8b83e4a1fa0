// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "base/system/pidfd.h"

namespace cohost::supervisor {
namespace {

constexpr uint64_t kCpuPeriodMicroseconds = 100'000;
// The kernel refuses quotas under 1 ms.
constexpr uint64_t kLeastQuotaMicroseconds = 1'000;

absl::Status WriteControl(const std::string& path, std::string_view value) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY));
  return Annotate(WriteAll(fd.get(), value), path);
}

void WriteLimit(const std::string& path, const std::string& value,
                std::vector<std::string>& remarks) {
  if (absl::Status status = WriteControl(path, value); !status.ok()) {
    remarks.push_back(absl::StrCat("limit not applied: ", status.message()));
  }
}

std::vector<pid_t> Members(const std::string& folder) {
  std::vector<pid_t> members;
  const auto text = ReadRegularFile(folder + "/cgroup.procs", MiB(1));
  if (!text.ok()) return members;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    pid_t pid = 0;
    // 0 stands for a process that this pid namespace does not show.
    if (absl::SimpleAtoi(line, &pid) && pid > 0) members.push_back(pid);
  }
  return members;
}

// The number behind `key ` at the start of a line, 0 when there is none.
uint64_t FindCounter(const std::string& path, std::string_view key) {
  const auto text = ReadRegularFile(path, KiB(16));
  if (!text.ok()) return 0;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
    uint64_t value = 0;
    if (parts.size() == 2 && AsStd(parts[0]) == key && absl::SimpleAtoi(parts[1], &value)) {
      return value;
    }
  }
  return 0;
}

std::string NamespacePrefix() {
  struct stat info {};
  // 0 without /proc: then there are no control groups either.
  if (stat("/proc/self/ns/pid", &info) != 0) info.st_ino = 0;
  return absl::StrCat("cohost.", info.st_ino, "-");
}

uint64_t Quota(uint64_t cpu_millionths) {
  return std::max(kLeastQuotaMicroseconds, cpu_millionths * kCpuPeriodMicroseconds / 1'000'000);
}

}  // namespace

std::unique_ptr<Cgroup> Cgroup::Create(const CgroupLayout& layout, const std::string& folder_name,
                                       const CgroupLimits& limits,
                                       std::vector<std::string>& remarks) {
  std::vector<CgroupLayout::Controller> folders;
  std::vector<UniqueFd> procs;
  for (const CgroupLayout::Controller& controller : layout.controllers) {
    const std::string folder = absl::StrCat(controller.folder, "/", folder_name);
    // One that exists is somebody else's.
    if (mkdir(folder.c_str(), 0755) != 0) {
      remarks.push_back(
          absl::StrCat("no control group: ", ErrnoStatus(errno, "mkdir", folder).message()));
      continue;
    }
    absl::StatusOr<UniqueFd> fd = OpenFile(folder + "/cgroup.procs", O_WRONLY);
    if (!fd.ok()) {
      remarks.push_back(absl::StrCat("no control group: ", fd.status().message()));
      (void)rmdir(folder.c_str());  // ignoring: it is empty, and the remark says what went wrong
      continue;
    }
    folders.push_back({controller.name, folder});
    procs.push_back(*std::move(fd));
  }
  if (folders.empty()) {
    const std::pair<uint64_t, const char*> wanted[] = {
        {limits.memory, "memory"}, {limits.cpu_millionths, "cpu"}, {limits.tasks, "tasks"}};
    for (const auto& [limit, name] : wanted) {
      if (limit > 0) {
        remarks.push_back(absl::StrCat("limits.", name, " is not applied: no control group"));
      }
    }
    return nullptr;
  }
  std::unique_ptr<Cgroup> group(new Cgroup(layout.kind, std::move(folders)));
  group->procs_ = std::move(procs);
  group->SetLimits(limits, remarks);
  return group;
}

Cgroup::~Cgroup() {
  // Ignoring the results: a folder that still has members stays, and says so by its presence.
  for (const auto& folder : folders_) (void)rmdir(folder.folder.c_str());
}

std::vector<int> Cgroup::procs() const {
  std::vector<int> numbers;
  for (const UniqueFd& fd : procs_) numbers.push_back(fd.get());
  return numbers;
}

std::string Cgroup::FolderOf(const std::string& controller) const {
  for (const auto& folder : folders_) {
    if (folder.name.empty() || folder.name == controller) return folder.folder;
  }
  return {};
}

void Cgroup::SetLimits(const CgroupLimits& limits, std::vector<std::string>& remarks) {
  const bool v2 = kind_ == CgroupLayout::Kind::kV2;
  const auto folder = [&](uint64_t limit, const std::string& controller) {
    if (limit == 0) return std::string();
    std::string found = FolderOf(controller);
    if (found.empty()) {
      remarks.push_back(absl::StrCat("limit not applied: no controller '", controller, "'"));
    }
    return found;
  };
  if (const std::string memory = folder(limits.memory, "memory"); !memory.empty()) {
    WriteLimit(memory + (v2 ? "/memory.max" : "/memory.limit_in_bytes"),
               absl::StrCat(limits.memory), remarks);
  }
  if (const std::string cpu = folder(limits.cpu_millionths, "cpu"); !cpu.empty()) {
    const uint64_t quota = Quota(limits.cpu_millionths);
    if (v2) {
      WriteLimit(cpu + "/cpu.max", absl::StrCat(quota, " ", kCpuPeriodMicroseconds), remarks);
    } else {
      WriteLimit(cpu + "/cpu.cfs_period_us", absl::StrCat(kCpuPeriodMicroseconds), remarks);
      WriteLimit(cpu + "/cpu.cfs_quota_us", absl::StrCat(quota), remarks);
    }
  }
  if (const std::string pids = folder(limits.tasks, "pids"); !pids.empty()) {
    WriteLimit(pids + "/pids.max", absl::StrCat(limits.tasks), remarks);
  }
}

void Cgroup::KillMembers() {
  if (kind_ == CgroupLayout::Kind::kV2) {
    // Ignoring a failure: the caller repeats until the group is empty, and gives up by its limit.
    (void)WriteControl(folders_.front().folder + "/cgroup.kill", "1");
    return;
  }
  const std::string freezer = FolderOf("freezer");
  if (freezer.empty()) return KillFrozenMembers(folders_.front().folder);
  // Frozen, so that none forks or ends (and gives its number away) between the steps. Ignoring
  // failures as above.
  (void)WriteControl(freezer + "/freezer.state", "FROZEN");
  KillFrozenMembers(freezer);
  (void)WriteControl(freezer + "/freezer.state", "THAWED");
}

void Cgroup::KillFrozenMembers(const std::string& folder) {
  std::vector<std::pair<pid_t, UniqueFd>> handles;
  for (const pid_t pid : Members(folder)) {
    UniqueFd pidfd = OpenPidfd(pid);
    if (pidfd.valid()) handles.emplace_back(pid, std::move(pidfd));
  }
  // Still a member after its pidfd was opened: then the pidfd is the member's and nobody else's.
  const std::vector<pid_t> members = Members(folder);
  for (const auto& [pid, pidfd] : handles) {
    if (std::find(members.begin(), members.end(), pid) == members.end()) continue;
    (void)SignalPidfd(pidfd.get(), SIGKILL);  // ignoring: it may have ended
  }
}

bool Cgroup::Empty() const {
  return std::all_of(folders_.begin(), folders_.end(),
                     [](const auto& folder) { return Members(folder.folder).empty(); });
}

bool Cgroup::OutOfMemory() const {
  const std::string memory = FolderOf("memory");
  if (memory.empty()) return false;
  const bool v2 = kind_ == CgroupLayout::Kind::kV2;
  return FindCounter(memory + (v2 ? "/memory.events" : "/memory.oom_control"), "oom_kill") > 0;
}

std::string PrepareCgroups(const CgroupLayout& layout, const std::string& leaf_name) {
  if (layout.kind != CgroupLayout::Kind::kV2) return {};
  const std::string& own = layout.controllers.front().folder;
  const std::string leaf = absl::StrCat(own, "/", leaf_name);
  if (mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) {
    return std::string(AsStd(ErrnoStatus(errno, "mkdir", leaf).message()));
  }
  if (absl::Status status = WriteControl(leaf + "/cgroup.procs", "0"); !status.ok()) {
    return std::string(AsStd(status.message()));
  }
  std::string problems;
  // One by one: a group may have been given only some of them.
  for (const char* controller : {"+memory", "+cpu", "+pids"}) {
    const absl::Status status = WriteControl(own + "/cgroup.subtree_control", controller);
    if (!status.ok()) absl::StrAppend(&problems, controller, ": ", status.message(), "; ");
  }
  return problems;
}

std::string OwnCgroupPrefix(SteadyTime start) {
  return absl::StrCat(NamespacePrefix(), getpid(), "-", absl::Hex(start.nanoseconds), ".");
}

void RemoveAbandonedCgroups(const CgroupLayout& layout) {
  const std::string prefix = NamespacePrefix();
  for (const CgroupLayout::Controller& controller : layout.controllers) {
    std::error_code error;  // a folder that cannot be read has nothing that we could remove
    for (const auto& entry : std::filesystem::directory_iterator(controller.folder, error)) {
      const std::string name = entry.path().filename().string();
      if (!absl::StartsWith(name, prefix)) continue;
      pid_t pid = 0;
      const std::string rest = name.substr(prefix.size());
      if (!absl::SimpleAtoi(rest.substr(0, rest.find('-')), &pid) || pid <= 0) continue;
      if (OpenPidfd(pid).valid()) continue;
      (void)rmdir(entry.path().c_str());  // ignoring: one with members stays
    }
  }
}

}  // namespace cohost::supervisor
