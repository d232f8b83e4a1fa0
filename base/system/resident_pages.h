// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohost {

// Gives back what only the start of this process needed: unmaps the pages of the text and constants
// of everything that is loaded (they stay in the page cache, and what is in use comes back with the
// next fault), and returns free heap to the kernel. Costs some hundred microseconds and as many
// minor faults afterwards; call it when a start is over. Safe while other threads load libraries:
// it goes by the loader's own list, and leaves alone what was ever relocated or written.
// Thread-safe.
void ReleaseStartupPages();

}  // namespace cohost
