// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Linq;

namespace Cohost.Worker;

/// <summary>
/// Telemetry listeners are the process's: what an application adds while it starts is narrowed to
/// its own activities, measurements and events, so that it does not see its neighbours' requests.
/// </summary>
internal sealed class TelemetryListeners(Func<IEnumerable<Service>> services) : IProcessPart
{
    // What was there when the window opened, by identity. Empty while no window is open.
    private readonly HashSet<object> _before = new(ReferenceEqualityComparer.Instance);

    public void Open(Service service)
    {
        foreach (ActivityListener listener in FrameworkInternals.ActivityListeners())
            _before.Add(listener);
        foreach (MeterListener listener in FrameworkInternals.MeterListeners())
            _before.Add(listener);
        foreach (var slot in FrameworkInternals.AllListenersSubscribers()) _before.Add(slot.Owner);
        foreach (var subscription in FrameworkInternals.DiagnosticSubscriptions())
            _before.Add(subscription.Link);
    }

    public void Close(Service service)
    {
        foreach (ActivityListener listener in FrameworkInternals.ActivityListeners())
        {
            if (!_before.Contains(listener)) OwnActivities.Narrow(listener, service);
        }
        foreach (MeterListener listener in FrameworkInternals.MeterListeners())
        {
            if (!_before.Contains(listener)) OwnMeasurements.Narrow(listener, service);
        }
        foreach (var slot in FrameworkInternals.AllListenersSubscribers())
        {
            if (!_before.Contains(slot.Owner)) OwnEvents.Narrow(slot, service);
        }
        // Those that end are taken out of the lists that are walked.
        var added = FrameworkInternals.DiagnosticSubscriptions()
            .Where(subscription => !_before.Contains(subscription.Link)).ToList();
        foreach (var subscription in added) OwnEvents.Narrow(subscription, service, services());
        _before.Clear();
    }
}
