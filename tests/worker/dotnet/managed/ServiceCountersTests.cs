// SPDX-License-Identifier: Apache-2.0

using System;
using System.Runtime.InteropServices;
using Xunit;

namespace Cohost.Worker.Tests;

public sealed unsafe class ServiceCountersTests : IDisposable
{
    private readonly byte* _row = (byte*)NativeMemory.AllocZeroed(SegmentLayout.RowSize);

    public void Dispose() => NativeMemory.Free(_row);

    [Fact]
    public void TheLayoutHasTheSizesOfTheSegment()
    {
        // static_asserts of base/format/segment.h.
        Assert.Equal(64 + 4 * 320, SegmentLayout.RowSize);
        Assert.Equal(SegmentLayout.StripeSize, SegmentLayout.Connections + 8 + 9 * 8);
    }

    [Fact]
    public void AFinishedRequestIsCountedByItsCodeAndItsTime()
    {
        var counters = new ServiceCounters((nint)_row);
        counters.RequestStarted();
        counters.RequestFinished(404, 3_000_000);
        Assert.Equal(1, Sum(SegmentLayout.Started));
        Assert.Equal(1, Sum(SegmentLayout.Finished));
        Assert.Equal(1, Sum(SegmentLayout.Answered + 4 * 8));
        Assert.Equal(3_000_000, Sum(SegmentLayout.LatencySum));
        Assert.Equal(1, Sum(SegmentLayout.Latency + 3 * 8));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    [InlineData(999)]
    public void AnAnswerWithoutACodeIsNone(int code)
    {
        new ServiceCounters((nint)_row).RequestFinished(code, 0);
        Assert.Equal(1, Sum(SegmentLayout.Answered));
    }

    [Fact]
    public void LimitsAreCountedByTheirKind()
    {
        var counters = new ServiceCounters((nint)_row);
        counters.LimitWasHit(LimitHit.QueueFull);
        counters.LimitWasHit(LimitHit.RequestTimeout);
        counters.LimitWasHit(LimitHit.RequestTimeout);
        Assert.Equal(1, Sum(SegmentLayout.LimitHit));
        Assert.Equal(2, Sum(SegmentLayout.LimitHit + 8));
    }

    [Fact]
    public void TheWorkersStripeIsLeftAlone()
    {
        var counters = new ServiceCounters((nint)_row);
        for (int i = 0; i < 100; i++) counters.RequestFinished(200, 1);
        var stripe = new ReadOnlySpan<byte>(
            _row + SegmentLayout.StripesOffset, SegmentLayout.StripeSize);
        Assert.Equal(-1, stripe.IndexOfAnyExcept((byte)0));
    }

    [Theory]
    [InlineData(0, 0)]
    [InlineData(500_000, 0)]
    [InlineData(500_001, 1)]
    [InlineData(30_000_000_000, 11)]
    [InlineData(30_000_000_001, 12)]
    public void ALatencyAtABoundIsInItsBucket(long nanoseconds, int bucket)
    {
        Assert.Equal(bucket, ServiceCounters.BucketOf(nanoseconds));
    }

    [Fact]
    public void WithoutARowNothingIsWritten() => new ServiceCounters(0).RequestFinished(200, 1);

    private long Sum(int offset)
    {
        long sum = 0;
        for (int stripe = 0; stripe < SegmentLayout.Stripes; stripe++)
        {
            sum += *(long*)(_row + SegmentLayout.StripesOffset +
                stripe * SegmentLayout.StripeSize + offset);
        }
        return sum;
    }
}
