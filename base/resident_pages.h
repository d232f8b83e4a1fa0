// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohost {

// Gives back what only the start of this process needed: unmaps the pages of the executable's text
// and constants (they stay in the page cache, and the ones in use come back with the next fault, 64
// KiB at a time), and returns free heap to the kernel. Costs some hundred microseconds and as many
// minor faults afterwards; call it once, when the start is over. Thread-safe.
void ReleaseStartupPages();

}  // namespace cohost
