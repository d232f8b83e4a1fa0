// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>Whether a request may go into the application's code.</summary>
internal enum AdmissionResult
{
    /// <summary>It waits; its task tells.</summary>
    Queued,
    Entered,

    /// <summary>The queue is full: 503.</summary>
    Refused,

    /// <summary>Its time was over while it waited: 504.</summary>
    TimedOut,

    /// <summary>Its client left while it waited.</summary>
    Abandoned,
}
