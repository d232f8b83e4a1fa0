// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using Microsoft.Extensions.DependencyInjection;
using Xunit;

namespace Cohost.Worker.Tests;

[Collection("process")]
public sealed class TelemetryListenersTests : IDisposable
{
    private readonly FakeWorker _worker = new();
    private readonly List<IDisposable> _owned = [];
    private readonly List<string> _seen = [];
    private readonly Service _own;
    private readonly Service _other;
    private readonly TelemetryListeners _listeners;

    public TelemetryListenersTests()
    {
        _own = Make(1);
        _other = Make(2);
        _listeners = new TelemetryListeners(() => [_own, _other]);
    }

    public void Dispose()
    {
        foreach (IDisposable owned in _owned) owned.Dispose();
    }

    [Fact]
    public void ActivitiesOfANeighbourAreNotSeen()
    {
        using var source = new ActivitySource("TelemetryListenersTests");
        var listener = Own(new ActivityListener
        {
            ShouldListenTo = candidate => candidate.Name == source.Name,
            Sample = (ref ActivityCreationOptions<ActivityContext> _) =>
                ActivitySamplingResult.AllData,
            ActivityStarted = activity => _seen.Add(activity.OperationName),
        });
        StartOwn(() => ActivitySource.AddActivityListener(listener));
        As(_own, () => source.StartActivity("own")?.Dispose());
        As(_other, () => Assert.Null(source.StartActivity("other")));
        Assert.Equal(["own"], _seen);
    }

    [Fact]
    public void MetersOfANeighboursHostAreNotPublished()
    {
        IMeterFactory own = HostOf(_own);
        IMeterFactory other = HostOf(_other);
        var listener = Own(new MeterListener
        {
            InstrumentPublished = (instrument, _) => _seen.Add(instrument.Name),
        });
        StartOwn(listener.Start);
        _seen.Clear();
        own.Create("Test").CreateCounter<int>("own");
        other.Create("Test").CreateCounter<int>("other");
        Assert.Equal(["own"], _seen);
    }

    [Fact]
    public void MeasurementsOfASharedMeterReachTheServiceThatMadeThem()
    {
        var meter = Own(new Meter("TelemetryListenersTests"));
        Counter<long> counter = meter.CreateCounter<long>("requests");
        var listener = Own(new MeterListener());
        listener.SetMeasurementEventCallback<long>(
            (_, measurement, _, _) => _seen.Add($"{measurement}"));
        StartOwn(() =>
        {
            listener.Start();
            listener.EnableMeasurementEvents(counter);
        });
        As(_own, () => counter.Add(1));
        As(_other, () => counter.Add(2));
        Assert.Equal(["1"], _seen);
    }

    [Fact]
    public void EventsOfANeighbourAreNotSeen()
    {
        var shared = Own(new DiagnosticListener("TelemetryListenersTests"));
        StartOwn(() => Own(shared.Subscribe(new Notes(_seen), name => name.Length > 0)));
        As(_own, () => Write(shared, "own"));
        As(_other, () => Write(shared, "other"));
        Assert.Equal(["own"], _seen);
    }

    [Fact]
    public void ANeighboursOwnListenerIsLeft()
    {
        DiagnosticListener foreign = Own(new DiagnosticListener("TelemetryListenersTests"));
        var services = new ServiceCollection();
        services.AddSingleton(foreign);
        _other.AddTelemetry(Own(services.BuildServiceProvider()));
        StartOwn(() => Own(foreign.Subscribe(new Notes(_seen))));
        Assert.False(foreign.IsEnabled());
    }

    private static void Write(DiagnosticListener listener, string name)
    {
        if (listener.IsEnabled(name)) listener.Write(name, null);
    }

    private void StartOwn(Action main)
    {
        _listeners.Open(_own);
        As(_own, main);
        _listeners.Close(_own);
    }

    private IMeterFactory HostOf(Service service)
    {
        var services = new ServiceCollection();
        services.AddMetrics();
        ServiceProvider provider = Own(services.BuildServiceProvider());
        service.AddTelemetry(provider);
        return provider.GetRequiredService<IMeterFactory>();
    }

    private T Own<T>(T disposable)
        where T : IDisposable
    {
        _owned.Insert(0, disposable);
        return disposable;
    }

    private static void As(Service service, Action action)
    {
        CurrentService.Set(service.Tag);
        action();
        CurrentService.Set(null);
    }

    private Service Make(int row) => new(
        new ServiceSpec { Row = row, Name = $"service{row}", Application = "/srv/App.dll" },
        _worker, new ProcessState(_worker, [], _ => true), () => { });

    private sealed class Notes(List<string> seen) : IObserver<KeyValuePair<string, object?>>
    {
        public void OnNext(KeyValuePair<string, object?> value) => seen.Add(value.Key);

        public void OnError(Exception error)
        {
        }

        public void OnCompleted()
        {
        }
    }
}
