// SPDX-License-Identifier: Apache-2.0

using System.Threading;
using Microsoft.AspNetCore.Http.Features;

namespace Cohost.Worker.Tests;

/// <summary>A request's lifetime as a server keeps it.</summary>
#pragma warning disable CA1001 // The source has no timer: nothing to dispose of.
internal sealed class FakeLifetime : IHttpRequestLifetimeFeature
{
    private readonly CancellationTokenSource _aborted = new();

    public FakeLifetime() => RequestAborted = _aborted.Token;

    public CancellationToken RequestAborted { get; set; }

    public bool WasAborted => _aborted.IsCancellationRequested;

    public void Abort() => _aborted.Cancel();
}
