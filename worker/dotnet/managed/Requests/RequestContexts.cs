// SPDX-License-Identifier: Apache-2.0

using System.Threading;

namespace Cohost.Worker;

/// <summary>
/// The execution context in which a connection's requests begin, and what entering the service made
/// of it: to enter again is to restore one object instead of making several. Thread-safe: a request
/// that loses a race enters the long way.
/// </summary>
internal sealed class RequestContexts
{
    private volatile Pair? _pair;

    /// <summary>False: the calling context is another one.</summary>
    internal bool TryEnter(Cultures cultures)
    {
        if (_pair is not { } pair || !ReferenceEquals(pair.Cultures, cultures)) return false;
        if (!ReferenceEquals(pair.Before, ExecutionContext.Capture())) return false;
        ExecutionContext.Restore(pair.After);
        return true;
    }

    internal void Keep(ExecutionContext? before, ExecutionContext? after, Cultures cultures)
    {
        // Null where the flow is suppressed.
        if (before is not null && after is not null) _pair = new Pair(before, after, cultures);
    }

    private sealed record Pair(ExecutionContext Before, ExecutionContext After, Cultures Cultures);
}
