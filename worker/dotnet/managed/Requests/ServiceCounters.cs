// SPDX-License-Identifier: Apache-2.0

using System;
using System.Threading;

namespace Cohost.Worker;

/// <summary>
/// A service's counters in the segment, which outlive this process. Only added to, atomically, in
/// the stripes that are the shim's, spread by processor. Thread-safe.
/// </summary>
/// <param name="row">Address of the ServiceRow; 0: nothing is counted.</param>
internal sealed unsafe class ServiceCounters(nint row)
{
    // Stripe 0 is the I/O thread's of the worker.
    private const int FirstStripe = 1;

    // Nanoseconds; as kLatencyBounds.
    private static readonly long[] s_bounds =
    [
        500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
        250_000_000, 1_000_000_000, 5_000_000_000, 30_000_000_000,
    ];

    internal static ReadOnlySpan<long> LatencyBounds => s_bounds;

    internal void RequestStarted() => Add(Stripe(), SegmentLayout.Started, 1);

    internal void LimitWasHit(LimitHit limit) =>
        Add(Stripe(), SegmentLayout.LimitHit + (int)limit * 8, 1);

    /// <param name="code">0: closed without an answer.</param>
    /// <param name="nanoseconds">From the head to the end of the answer.</param>
    internal void RequestFinished(int code, long nanoseconds)
    {
        nanoseconds = Math.Max(nanoseconds, 0);
        int codeClass = code / 100;
        if (codeClass is < 0 or >= SegmentLayout.CodeClasses) codeClass = 0;
        nint stripe = Stripe();
        Add(stripe, SegmentLayout.Finished, 1);
        Add(stripe, SegmentLayout.Answered + codeClass * 8, 1);
        Add(stripe, SegmentLayout.LatencySum, nanoseconds);
        Add(stripe, SegmentLayout.Latency + BucketOf(nanoseconds) * 8, 1);
    }

    /// <summary>Told when a connection ends.</summary>
    internal void BytesMoved(long received, long sent)
    {
        nint stripe = Stripe();
        Add(stripe, SegmentLayout.BytesReceived, received);
        Add(stripe, SegmentLayout.BytesSent, sent);
    }

    internal static int BucketOf(long nanoseconds)
    {
        int bucket = 0;
        while (bucket < s_bounds.Length && nanoseconds > s_bounds[bucket]) bucket++;
        return bucket;
    }

    // 0: there is no row.
    private nint Stripe()
    {
        if (row == 0) return 0;
        int stripe = FirstStripe +
            Thread.GetCurrentProcessorId() % (SegmentLayout.Stripes - FirstStripe);
        return row + SegmentLayout.StripesOffset + stripe * SegmentLayout.StripeSize;
    }

    private static void Add(nint stripe, int offset, long value)
    {
        if (stripe != 0) Interlocked.Add(ref *(long*)(stripe + offset), value);
    }
}
