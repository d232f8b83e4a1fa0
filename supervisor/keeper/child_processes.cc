// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/child_processes.h"

#include <unistd.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/strings.h"
#include "base/system/file.h"

namespace cohost::supervisor {

std::vector<pid_t> ChildProcesses() {
  std::vector<pid_t> children;
  // Of the one thread that this process has.
  const auto text = ReadRegularFile("/proc/thread-self/children", MiB(4));
  if (!text.ok()) return children;
  for (const absl::string_view word : absl::StrSplit(*text, ' ', absl::SkipEmpty())) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(word, &pid)) children.push_back(pid);
  }
  return children;
}

bool CarriesMark(pid_t pid, std::string_view name) {
  const auto text = ReadRegularFile(absl::StrCat("/proc/", pid, "/environ"), MiB(4));
  if (!text.ok()) return false;
  const std::string mark = absl::StrCat(kProcessMark, "=", AsAbsl(name));
  for (const absl::string_view variable : absl::StrSplit(*text, '\0')) {
    if (variable == mark) return true;
  }
  return false;
}

}  // namespace cohost::supervisor
