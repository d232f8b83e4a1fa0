// SPDX-License-Identifier: Apache-2.0

using System;

namespace Cohost.Worker;

/// <summary>How an application's start ended. Immutable.</summary>
internal sealed class StartOutcome
{
    internal static readonly StartOutcome HostStarted = new(null);

    private StartOutcome(string? failure) => Failure = failure;

    /// <summary>Null: well.</summary>
    internal string? Failure { get; }

    internal static StartOutcome MainEnded(Exception? exception, int code) => new(
        exception?.ToString() ?? $"Main returned {code} before a host had started");
}
