// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>
/// Where the segment has the fields of a ServiceRow that the shim writes, in bytes. Every field is
/// a little-endian uint64. Written by worker/dotnet/segment_view.cc from base/format/segment.h.
/// </summary>
internal static class SegmentLayout
{
    internal const int CodeClasses = 6;
    internal const int LimitHits = 6;
    internal const int LatencyBuckets = 13;
    internal const int Stripes = 4;

    // Of a ServiceRow.
    internal const int StripesOffset = 64;
    internal const int StripeSize = 320;
    internal const int RowSize = 1344;

    // Of a ServiceCounters, from the start of its stripe.
    internal const int Started = 0;
    internal const int Finished = 8;
    internal const int Answered = 16;
    internal const int LimitHit = 64;
    internal const int LatencySum = 112;
    internal const int Latency = 120;
    internal const int BytesReceived = 224;
    internal const int BytesSent = 232;
    internal const int Connections = 240;
}
