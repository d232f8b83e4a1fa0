// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

namespace cohost::supervisor {

// The variable that marks every process of one name: "COHOST_PROCESS=worker/steady-1/0/7".
inline constexpr char kProcessMark[] = "COHOST_PROCESS";

// This process's children by number, adopted orphans included. Their numbers stay theirs until this
// process reaps them.
std::vector<pid_t> ChildProcesses();

// Whether the process was started with the mark of `name` in its environment. False when that
// cannot be read (it has ended).
bool CarriesMark(pid_t pid, std::string_view name);

}  // namespace cohost::supervisor
