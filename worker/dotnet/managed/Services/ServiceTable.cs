// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Concurrent;
using System.Net.Sockets;
using System.Runtime;
using System.Threading;

namespace Cohost.Worker;

/// <summary>
/// The services of this process by row, and the thread that starts them, one after the other.
/// Thread-safe. Lives as long as the process.
/// </summary>
internal sealed class ServiceTable
{
    private readonly IWorker _worker;
    private readonly StartSequence _starts;
    private readonly ConcurrentDictionary<int, Service> _services = new();
    private readonly BlockingCollection<Service> _waiting = [];

    internal ServiceTable(IWorker worker, ProcessState process)
    {
        _worker = worker;
        _starts = new StartSequence(worker, process);
        new Thread(StartAll) { IsBackground = true, Name = "cohost-start" }.Start();
    }

    /// <summary>The service that the calling thread works for, if any.</summary>
    internal Service? Current => Find(CurrentService.Row);

    internal Service? Find(int row) => _services.TryGetValue(row, out Service? service) ? service : null;

    internal void Load(ServiceSpec spec)
    {
        var service = new Service(spec, _worker);
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
        _worker.ConnectionEnded(row, channel);
    }

    internal void Stop(int row, TimeSpan limit)
    {
        if (Find(row) is { } service) service.Stop(limit);
        else _worker.Stopped(row);
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

    private void StartAll()
    {
        foreach (Service service in _waiting.GetConsumingEnumerable())
        {
            _starts.Run(service);
            // The others' turn has come nearer.
            foreach (Service waiting in _waiting) _worker.Progress(waiting.Spec.Row);
        }
    }
}
