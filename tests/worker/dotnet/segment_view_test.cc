// SPDX-License-Identifier: Apache-2.0
#include "worker/dotnet/segment_view.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace cohost::worker::dotnet {
namespace {

TEST(SegmentView, TheShimHasEveryOffsetWhereThisCompilerHasIt) {
  std::ifstream file("worker/dotnet/managed/Requests/SegmentLayout.cs");
  const std::string managed((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(managed, SegmentView()) << "write it anew: bazel run //worker/dotnet:segment_view_tool "
                                       ">worker/dotnet/managed/Requests/SegmentLayout.cs";
}

}  // namespace
}  // namespace cohost::worker::dotnet
