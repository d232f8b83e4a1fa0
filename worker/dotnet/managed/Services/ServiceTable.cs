// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Net.Sockets;
using System.Runtime;
using System.Threading;

namespace Cohost.Worker;

/// <summary>
/// The services of this process by row, and the thread that starts them, one after the other.
/// Thread-safe. Lives as long as the process.
/// </summary>
internal sealed class ServiceTable(IWorker worker)
{
    private readonly ConcurrentDictionary<int, Service> _services = new();
    private readonly BlockingCollection<Service> _waiting = [];

    // Set by Begin.
    private ProcessState? _process;
    private PoolWatch? _watch;

    /// <summary>The service that the calling thread works for, if any.</summary>
    internal Service? Current => Find(CurrentService.Row);

    // Not Values, which copies all of them under every lock of the dictionary.
    internal IEnumerable<Service> All => _services.Select(entry => entry.Value);

    /// <summary>Called once, before the first load.</summary>
    internal void Begin(ProcessState process, PoolWatch watch)
    {
        _process = process;
        _watch = watch;
        var starts = new StartSequence(worker, process);
        new Thread(() => StartAll(starts)) { IsBackground = true, Name = "cohost-start" }.Start();
    }

    /// <summary>Requests in applications' code.</summary>
    internal int InFlight()
    {
        int sum = 0;
        foreach ((_, Service service) in _services) sum += service.Requests.Admission.InFlight;
        return sum;
    }

    /// <summary>Whether no other service has a request in its code.</summary>
    internal bool IsAlone(Service service)
    {
        foreach ((_, Service other) in _services)
        {
            if (other != service && other.Requests.Admission.InFlight > 0) return false;
        }
        return true;
    }

    internal Service? Find(int row) =>
        _services.TryGetValue(row, out Service? service) ? service : null;

    internal void Load(ServiceSpec spec)
    {
        var service = new Service(spec, worker, _process!, _watch!.Wake);
        if (!_services.TryAdd(spec.Row, service))
            throw new InvalidOperationException($"row {spec.Row} has a service already");
        _waiting.Add(service);
    }

    /// <summary>Takes the descriptor <paramref name="socket"/>.</summary>
    internal void Serve(int row, uint endpoint, int socket, Channel channel)
    {
        var handle = new SafeSocketHandle(socket, ownsHandle: true);
        if (Find(row) is { } service)
        {
            service.Transport.Serve((int)endpoint, handle, channel);
            return;
        }
        handle.Dispose();
        worker.ConnectionEnded(row, channel);
    }

    internal void Stop(int row, TimeSpan limit)
    {
        // What has ended is forgotten, so that its objects can be collected. What runs on is not:
        // it may yet be blamed.
        if (Find(row) is { } service) service.Stop(limit, () => _services.TryRemove(row, out _));
        else worker.Stopped(row);
    }

    /// <summary>Null, or why the service is not well.</summary>
    internal string? Health(int row, TimeSpan limit)
    {
        if (Find(row) is not { } service) return "it is not loaded";
        if (service.State != ServiceState.Running) return $"it is {service.State}";
        var ran = new ManualResetEventSlim();
        // By the thread pool itself, so that the delay is what a request would see.
        ThreadPool.UnsafeQueueUserWorkItem(static done => done.Set(), ran, preferLocal: false);
        if (ran.Wait(limit)) return null;
        return $"the thread pool ran nothing for {limit.TotalMilliseconds:F0} ms";
    }

    /// <summary>Collects what can be collected. Bytes of the heap after it.</summary>
    internal static long Trim()
    {
        GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        return GC.GetTotalMemory(forceFullCollection: false);
    }

    private void StartAll(StartSequence starts)
    {
        foreach (Service service in _waiting.GetConsumingEnumerable())
        {
            starts.Run(service);
            // The others' turn has come nearer.
            foreach (Service waiting in _waiting) worker.Progress(waiting.Spec.Row);
        }
    }
}
