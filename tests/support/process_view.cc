// SPDX-License-Identifier: Apache-2.0
#include "tests/support/process_view.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace cohost::testing {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Folder(pid_t pid) { return absl::StrCat("/proc/", pid); }

// The rest of the line that begins with "NAME:".
std::string Field(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(name + ":", 0) != 0) continue;
    return std::string(absl::StripAsciiWhitespace(line.substr(name.size() + 1)));
  }
  return "";
}

std::vector<std::string> Entries(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;  // it may end meanwhile
  std::filesystem::directory_iterator entry(folder, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  return names;
}

Bytes Kilobytes(const std::string& text, const std::string& name) {
  return KiB(std::strtoull(Field(text, name).c_str(), nullptr, 10));
}

}  // namespace

std::string StatusField(pid_t pid, const std::string& name) {
  return Field(ReadText(Folder(pid) + "/status"), name);
}

bool IsAlive(pid_t pid) {
  const std::string state = StatusField(pid, "State");
  return !state.empty() && state[0] != 'Z' && state[0] != 'X';
}

std::map<int, std::string> DescriptorsOf(pid_t pid) {
  std::map<int, std::string> descriptors;
  const std::string folder = Folder(pid) + "/fd";
  for (const std::string& name : Entries(folder)) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(folder + "/" + name, error);
    if (!error) descriptors[std::atoi(name.c_str())] = target.string();
  }
  return descriptors;
}

size_t CountDescriptors(pid_t pid, const std::string& prefix) {
  size_t count = 0;
  for (const auto& [number, target] : DescriptorsOf(pid)) count += target.rfind(prefix, 0) == 0;
  return count;
}

bool HasCloseOnExec(pid_t pid, int descriptor) {
  const std::string flags =
      Field(ReadText(absl::StrCat(Folder(pid), "/fdinfo/", descriptor)), "flags");
  return (std::strtoul(flags.c_str(), nullptr, 8) & O_CLOEXEC) != 0;
}

std::string EnvironmentOf(pid_t pid) { return ReadText(Folder(pid) + "/environ"); }

int OomScoreAdjustment(pid_t pid) {
  return std::atoi(ReadText(Folder(pid) + "/oom_score_adj").c_str());
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  for (const std::string& task : Entries(Folder(pid) + "/task")) {
    std::istringstream list(ReadText(absl::StrCat(Folder(pid), "/task/", task, "/children")));
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

std::vector<pid_t> DescendantsOf(pid_t pid) {
  std::vector<pid_t> all = ChildrenOf(pid);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<pid_t> children = ChildrenOf(all[i]);
    all.insert(all.end(), children.begin(), children.end());
  }
  return all;
}

absl::Duration CpuTimeOf(pid_t pid) {
  const std::string text = ReadText(Folder(pid) + "/stat");
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return absl::ZeroDuration();
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;  // proc(5): utime is the 14th
  int64_t user = 0;
  int64_t system = 0;
  fields >> user >> system;
  return absl::Seconds(1) * (user + system) / sysconf(_SC_CLK_TCK);
}

uint64_t VoluntarySwitches(pid_t pid, const std::string& thread_name) {
  uint64_t switches = 0;
  for (const std::string& task : Entries(Folder(pid) + "/task")) {
    const std::string text = ReadText(absl::StrCat(Folder(pid), "/task/", task, "/status"));
    if (!thread_name.empty() && Field(text, "Name") != thread_name) continue;
    switches += std::strtoull(Field(text, "voluntary_ctxt_switches").c_str(), nullptr, 10);
  }
  return switches;
}

MemoryFigures MemoryOf(pid_t pid) {
  const std::string text = ReadText(Folder(pid) + "/smaps_rollup");
  const Bytes clean = Kilobytes(text, "Private_Clean");
  const Bytes dirty = Kilobytes(text, "Private_Dirty");
  return {Kilobytes(text, "Pss"), {clean.count + dirty.count}, Kilobytes(text, "Rss")};
}

}  // namespace cohost::testing
