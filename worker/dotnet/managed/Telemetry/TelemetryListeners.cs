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
    // What was there when the window opened, by identity.
    private HashSet<object> _before = [];

    public void Open(Service service) => _before = new HashSet<object>(
        All(), ReferenceEqualityComparer.Instance);

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
        Service[] others = [.. services().Where(other => other != service)];
        foreach (var subscription in FrameworkInternals.DiagnosticSubscriptions().ToList())
        {
            if (!_before.Contains(subscription.Link))
                OwnEvents.Narrow(subscription, service, others);
        }
        _before = [];
    }

    private static IEnumerable<object> All() =>
        FrameworkInternals.ActivityListeners().Cast<object>()
            .Concat(FrameworkInternals.MeterListeners())
            .Concat(FrameworkInternals.AllListenersSubscribers().Select(slot => slot.Owner))
            .Concat(FrameworkInternals.DiagnosticSubscriptions().Select(one => one.Link));
}
