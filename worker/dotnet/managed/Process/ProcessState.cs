// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using Microsoft.Extensions.Logging;

namespace Cohost.Worker;

/// <summary>
/// All parts of the process's state that applications take for their own. A window makes them one
/// application's while that starts; after a request, what its application changed in it is kept for
/// that application alone. Windows are opened on the starting thread only, the rest is thread-safe.
/// </summary>
/// <param name="worker">For what cannot be put back.</param>
/// <param name="parts">In the order in which a window opens them.</param>
/// <param name="isAlone">Whether no other service has a request in its code.</param>
internal sealed class ProcessState(
    IWorker worker, IReadOnlyList<IProcessPart> parts, Func<Service, bool> isAlone)
{
    private readonly IWatchedPart[] _watched = [.. parts.OfType<IWatchedPart>()];
    private readonly Lock _lock = new();

    // While a window is open, a change is taken for the starting application's.
    private volatile bool _isOpen;

    /// <summary>The window closes when the result is disposed.</summary>
    internal IDisposable OpenWindow(Service service)
    {
        var window = new Window(this, service);
        _isOpen = true;
        try
        {
            foreach (IProcessPart part in parts) part.Open(service);
        }
        catch
        {
            window.Dispose();
            throw;
        }
        return window;
    }

    /// <summary>Called after each request of the service, while it still counts as one. A change
    /// is the service's when no other was at work; otherwise it is nobody's, so that none gets
    /// what its neighbour wanted.</summary>
    internal void AfterRequest(Service service)
    {
        foreach (IWatchedPart part in _watched)
        {
            if (part.HasChanged) PutBack(service, part);
        }
    }

    private void PutBack(Service service, IWatchedPart part)
    {
        lock (_lock)
        {
            if (_isOpen) return;
            if (isAlone(service))
                Close(service, [part]);
            else
                part.PutBack();
        }
    }

    private void CloseWindow(Service service)
    {
        lock (_lock)
        {
            Close(service, parts.Reverse());
            _isOpen = false;
        }
    }

    private void Close(Service service, IEnumerable<IProcessPart> which)
    {
        foreach (IProcessPart part in which)
        {
            try
            {
                part.Close(service);
            }
            catch (Exception e)
            {
                // The others must be put back all the same.
                worker.Log(service.Spec.Row, LogLevel.Error, Service.LogCategory, e.ToString());
            }
        }
    }

    private sealed class Window(ProcessState process, Service service) : IDisposable
    {
        public void Dispose() => process.CloseWindow(service);
    }
}
