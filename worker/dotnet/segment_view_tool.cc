// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "worker/dotnet/segment_view.h"

int main() { return std::fputs(cohost::worker::dotnet::SegmentView().c_str(), stdout) < 0 ? 2 : 0; }
