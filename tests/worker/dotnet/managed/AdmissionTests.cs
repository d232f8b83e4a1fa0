// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Threading.Tasks;
using Microsoft.Extensions.Time.Testing;
using Xunit;

namespace Cohost.Worker.Tests;

public sealed class AdmissionTests
{
    private static readonly TimeSpan s_timeout = TimeSpan.FromSeconds(30);

    private readonly FakeTimeProvider _clock = new();
    private readonly List<ServiceRequest> _overdue = [];

    [Fact]
    public void LetsAsManyInAsTheConcurrencySays()
    {
        using Admission admission = Make(concurrency: 2, queue: 0);
        Assert.Equal(AdmissionResult.Entered, admission.TryEnter(Request()));
        Assert.Equal(AdmissionResult.Entered, admission.TryEnter(Request()));
        Assert.Equal(AdmissionResult.Refused, admission.TryEnter(Request()));
    }

    [Fact]
    public void WithoutAConcurrencyThereIsNoLimit()
    {
        using Admission admission = Make(concurrency: 0, queue: 0);
        for (int i = 0; i < 1000; i++)
            Assert.Equal(AdmissionResult.Entered, admission.TryEnter(Request()));
    }

    [Fact]
    public async Task TheQueueIsFirstComeFirstServed()
    {
        using Admission admission = Make(concurrency: 1, queue: 2);
        ServiceRequest first = Request(), second = Request(), third = Request();
        admission.TryEnter(first);
        Assert.Equal(AdmissionResult.Queued, admission.TryEnter(second));
        Assert.Equal(AdmissionResult.Queued, admission.TryEnter(third));
        Assert.Equal(AdmissionResult.Refused, admission.TryEnter(Request()));

        admission.Leave(first);
        Assert.Equal(AdmissionResult.Entered, await admission.WaitAsync(second));
        Assert.False(third.Turn.IsCompleted);
        admission.Leave(second);
        Assert.Equal(AdmissionResult.Entered, await admission.WaitAsync(third));
    }

    [Fact]
    public void LeavingTwiceFreesOnePlace()
    {
        using Admission admission = Make(concurrency: 1, queue: 0);
        ServiceRequest request = Request();
        admission.TryEnter(request);
        admission.Leave(request);
        admission.Leave(request);
        Assert.Equal(AdmissionResult.Entered, admission.TryEnter(Request()));
        Assert.Equal(AdmissionResult.Refused, admission.TryEnter(Request()));
    }

    [Fact]
    public async Task ARequestThatWaitsTooLongIsTimedOut()
    {
        using Admission admission = Make(concurrency: 1, queue: 1);
        admission.TryEnter(Request());
        ServiceRequest waiting = Request();
        admission.TryEnter(waiting);
        Advance(s_timeout);
        Assert.Equal(AdmissionResult.TimedOut, await admission.WaitAsync(waiting));
        Assert.Equal(0u, admission.Gauges().Queued);
    }

    [Fact]
    public async Task ARequestWhoseClientLeavesGivesUpItsPlaceInTheQueue()
    {
        using Admission admission = Make(concurrency: 1, queue: 1);
        admission.TryEnter(Request());
        var client = new FakeLifetime();
        ServiceRequest waiting = Request(client);
        admission.TryEnter(waiting);
        Task<AdmissionResult> turn = admission.WaitAsync(waiting);
        client.Abort();
        Assert.Equal(AdmissionResult.Abandoned, await turn);
        Assert.Equal(AdmissionResult.Queued, admission.TryEnter(Request()));
    }

    [Fact]
    public void ARequestWithoutAnAnswerIsCancelledAtItsTimeoutAndItsConnectionLives()
    {
        using Admission admission = Make(concurrency: 1, queue: 0);
        var client = new FakeLifetime();
        ServiceRequest request = Request(client);
        admission.TryEnter(request);
        Advance(s_timeout - TimeSpan.FromSeconds(1));
        Assert.False(request.TimedOut);
        Advance(TimeSpan.FromSeconds(2));
        Assert.True(request.TimedOut);
        Assert.True(request.RequestAborted.IsCancellationRequested);
        Assert.False(client.WasAborted);
        Assert.Equal(AdmissionResult.Refused, admission.TryEnter(Request()));
    }

    [Fact]
    public void ARequestWhoseAnswerHasBegunIsNotCancelled()
    {
        using Admission admission = Make(concurrency: 1, queue: 0);
        ServiceRequest request = Request(response: new FakeResponse { HasStarted = true });
        admission.TryEnter(request);
        Advance(s_timeout * 2);
        Assert.False(request.TimedOut);
        Assert.Empty(_overdue);
        Assert.Equal(0u, admission.Gauges().OldestRequestNs);
        Assert.Equal(1u, admission.Gauges().InFlight);
    }

    [Fact]
    public void ACancelledRequestThatRunsOnIsToldOfOnceAndKeepsItsPlace()
    {
        using Admission admission = Make(concurrency: 1, queue: 0);
        ServiceRequest request = Request();
        admission.TryEnter(request);
        Advance(s_timeout + TimeSpan.FromSeconds(1));
        Assert.Empty(_overdue);
        Advance(Admission.CancelGrace);
        Advance(s_timeout);
        Assert.Same(request, Assert.Single(_overdue));
        Assert.Equal(1u, admission.Gauges().InFlight);
        admission.Leave(request);
        Assert.Equal(0u, admission.Gauges().InFlight);
    }

    [Fact]
    public void ANewRequestsTimeoutComesBeforeTheGraceOfAnOlderOne()
    {
        using Admission admission = Make(
            concurrency: 2, queue: 0, timeout: TimeSpan.FromSeconds(1));
        admission.TryEnter(Request());
        Advance(TimeSpan.FromSeconds(1.1));
        ServiceRequest second = Request();
        admission.TryEnter(second);
        Advance(TimeSpan.FromSeconds(1.1));
        Assert.True(second.TimedOut);
    }

    [Fact]
    public void WithoutATimeoutNothingIsCancelled()
    {
        using Admission admission = Make(concurrency: 1, queue: 0, timeout: TimeSpan.Zero);
        ServiceRequest request = Request();
        admission.TryEnter(request);
        Advance(TimeSpan.FromDays(1));
        Assert.False(request.TimedOut);
    }

    [Fact]
    public void GaugesNameTheOldestRequests()
    {
        using Admission admission = Make(concurrency: 1, queue: 1);
        Advance(TimeSpan.FromSeconds(1));
        ServiceRequest working = Request();
        admission.TryEnter(working);
        Advance(TimeSpan.FromSeconds(1));
        ServiceRequest waiting = Request();
        admission.TryEnter(waiting);
        Boundary.ServiceGauges gauges = admission.Gauges();
        Assert.Equal(1u, gauges.InFlight);
        Assert.Equal(1u, gauges.Queued);
        Assert.Equal((ulong)working.Start, gauges.OldestRequestNs);
        Assert.Equal((ulong)waiting.Start, gauges.OldestQueuedNs);
    }

    private Admission Make(int concurrency, int queue, TimeSpan? timeout = null) =>
        new(concurrency, queue, timeout ?? s_timeout, _clock, _overdue.Add);

    private ServiceRequest Request(FakeLifetime? client = null, FakeResponse? response = null) =>
        new(client ?? new FakeLifetime(), _clock.GetTimestamp())
        {
            Response = response ?? new FakeResponse(),
        };

    // In steps, so that timers which a timer arms run, too.
    private void Advance(TimeSpan time)
    {
        for (; time > TimeSpan.Zero; time -= TimeSpan.FromSeconds(1))
            _clock.Advance(time < TimeSpan.FromSeconds(1) ? time : TimeSpan.FromSeconds(1));
        _clock.Advance(TimeSpan.FromMilliseconds(2));
    }
}
