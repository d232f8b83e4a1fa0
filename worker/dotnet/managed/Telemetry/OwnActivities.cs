// SPDX-License-Identifier: Apache-2.0

using System;
using System.Diagnostics;

namespace Cohost.Worker;

/// <summary>Narrows an activity listener to the activities of one service.</summary>
internal static class OwnActivities
{
    internal static void Narrow(ActivityListener listener, Service service)
    {
        if (listener.Sample is { } sample)
        {
            listener.Sample = (ref ActivityCreationOptions<ActivityContext> options) =>
                service.IsCurrent ? sample(ref options) : ActivitySamplingResult.None;
        }
        if (listener.SampleUsingParentId is { } sampleById)
        {
            listener.SampleUsingParentId = (ref ActivityCreationOptions<string> options) =>
                service.IsCurrent ? sampleById(ref options) : ActivitySamplingResult.None;
        }
        listener.ActivityStarted = Narrow(listener.ActivityStarted, service);
        listener.ActivityStopped = Narrow(listener.ActivityStopped, service);
    }

    private static Action<Activity>? Narrow(Action<Activity>? action, Service service)
    {
        if (action is null) return null;
        return activity =>
        {
            if (service.IsCurrent) action(activity);
        };
    }
}
