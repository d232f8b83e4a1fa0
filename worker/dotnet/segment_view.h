// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cohost::worker::dotnet {

// The text of managed/Requests/SegmentLayout.cs: where base/format/segment.h has what the shim
// writes, as this compiler lays it out. `segment_view_tool > .../SegmentLayout.cs` writes it anew;
// a test compares the two.
std::string SegmentView();

}  // namespace cohost::worker::dotnet
