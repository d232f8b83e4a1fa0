// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;

namespace Cohost.Worker;

/// <summary>Narrows subscriptions to diagnostic listeners to the events of one service.</summary>
internal static class OwnEvents
{
    /// <summary>Listeners that neighbours make later are not announced to it.</summary>
    internal static void Narrow(
        FrameworkInternals.Slot<IObserver<DiagnosticListener>> subscriber, Service service) =>
        subscriber.Replace(inner => new Observer<DiagnosticListener>(
            inner, () => service.IsCurrent || CurrentService.Row == Boundary.NoService));

    /// <summary>A subscription to a neighbour's own listener ends; one to a shared listener gets
    /// the service's events.</summary>
    internal static void Narrow(
        FrameworkInternals.DiagnosticSubscription subscription, Service service,
        IEnumerable<Service> all)
    {
        if (subscription.Listener is { } listener &&
            all.Any(other => other != service && other.Owns(listener)))
        {
            subscription.End();
            return;
        }
        subscription.Observer.Replace(inner => new Observer<KeyValuePair<string, object?>>(
            inner, () => service.IsCurrent));
        subscription.IsEnabled.Replace(
            inner => name => service.IsCurrent && inner(name));
        subscription.IsEnabledWithObjects.Replace(
            inner => (name, first, second) => service.IsCurrent && inner(name, first, second));
    }

    private sealed class Observer<T>(IObserver<T> inner, Func<bool> isOwn) : IObserver<T>
    {
        public void OnNext(T value)
        {
            if (isOwn()) inner.OnNext(value);
        }

        public void OnError(Exception error) => inner.OnError(error);

        public void OnCompleted() => inner.OnCompleted();
    }
}
