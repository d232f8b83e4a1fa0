// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace cohost {

// Gives back what only the start of this process needed: unmaps the clean pages of every file that
// is mapped read-only (text, constants, modules, data images; they stay in the page cache, and what
// is in use comes back with the next fault), and returns free heap to the kernel. Costs about a
// millisecond and some hundred minor faults afterwards; call it when a start is over. A process
// with thousands of mappings is left alone, since looking at them would stall it. Thread-safe.
void ReleaseStartupPages();

// The mappings among the lines of /proc/PID/smaps that may be given back, as addresses: of a file,
// not writable, and without a page that was ever written (relocated data is read-only too).
std::vector<std::pair<uintptr_t, uintptr_t>> CleanMappings(std::string_view smaps);

}  // namespace cohost
