// SPDX-License-Identifier: Apache-2.0
#include "worker/dotnet/segment_view.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/format/segment.h"
#include "base/strings.h"

namespace cohost::worker::dotnet {
namespace {

constexpr char kHead[] = R"(// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>
/// Where the segment has the fields of a ServiceRow that the shim writes, in bytes. Every field is
/// a little-endian uint64. Written by worker/dotnet/segment_view.cc from base/format/segment.h.
/// </summary>
internal static class SegmentLayout
{
)";

struct Constant {
  std::string_view name;
  size_t value;
};

constexpr Constant kConstants[] = {
    {"CodeClasses", sizeof(ServiceCounters::answered) / sizeof(uint64_t)},
    {"LimitHits", sizeof(ServiceCounters::limit_hits) / sizeof(uint64_t)},
    {"LatencyBuckets", kLatencyBuckets},
    {"Stripes", kStripes},
};

constexpr Constant kOfRow[] = {
    {"StripesOffset", offsetof(ServiceRow, stripes)},
    {"StripeSize", sizeof(ServiceCounters)},
    {"RowSize", sizeof(ServiceRow)},
};

constexpr Constant kOfStripe[] = {
    {"Started", offsetof(ServiceCounters, started)},
    {"Finished", offsetof(ServiceCounters, finished)},
    {"Answered", offsetof(ServiceCounters, answered)},
    {"LimitHit", offsetof(ServiceCounters, limit_hits)},
    {"LatencySum", offsetof(ServiceCounters, latency_sum_ns)},
    {"Latency", offsetof(ServiceCounters, latency)},
    {"BytesReceived", offsetof(ServiceCounters, bytes_received)},
    {"BytesSent", offsetof(ServiceCounters, bytes_sent)},
    {"Connections", offsetof(ServiceCounters, connections)},
};

template <size_t kSize>
void Append(std::string& text, const Constant (&constants)[kSize]) {
  for (const Constant& each : constants) {
    absl::StrAppend(&text, "    internal const int ", AsAbsl(each.name), " = ", each.value, ";\n");
  }
}

}  // namespace

std::string SegmentView() {
  std::string text = kHead;
  Append(text, kConstants);
  text += "\n    // Of a ServiceRow.\n";
  Append(text, kOfRow);
  text += "\n    // Of a ServiceCounters, from the start of its stripe.\n";
  Append(text, kOfStripe);
  text += "}\n";
  return text;
}

}  // namespace cohost::worker::dotnet
