// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>
/// Where base/format/segment.h has the fields of a ServiceRow that the shim writes, in bytes. Every
/// field is a little-endian uint64. A test on the other side compares each of them.
/// </summary>
internal static class SegmentLayout
{
    internal const int CodeClasses = 6;
    internal const int LimitHits = 6;
    internal const int LatencyBuckets = 13;
    internal const int Stripes = 4;

    // ServiceRow.
    internal const int StripesOffset = 64;
    internal const int StripeSize = 320;
    internal const int RowSize = StripesOffset + Stripes * StripeSize;

    // ServiceCounters, from the start of a stripe.
    internal const int Started = 0;
    internal const int Finished = Started + 8;
    internal const int Answered = Finished + 8;
    internal const int LimitHit = Answered + CodeClasses * 8;
    internal const int LatencySum = LimitHit + LimitHits * 8;
    internal const int Latency = LatencySum + 8;
    internal const int BytesReceived = Latency + LatencyBuckets * 8;
    internal const int BytesSent = BytesReceived + 8;
    internal const int Connections = BytesSent + 8;
}
