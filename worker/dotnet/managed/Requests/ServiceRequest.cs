// SPDX-License-Identifier: Apache-2.0

using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http.Features;

namespace Cohost.Worker;

/// <summary>
/// One request from its head to its end. It stands in for the server's lifetime feature, so that a
/// request can be cancelled at its limit while its connection lives and can carry the answer. Made
/// for each request and never reused, because applications keep features longer than they may.
/// Thread-safe where it says so.
/// </summary>
internal sealed class ServiceRequest(IHttpRequestLifetimeFeature lifetime, long start)
    : IHttpRequestLifetimeFeature
{
    private TaskCompletionSource<AdmissionResult>? _turn;

    // Guarded by this object itself, which has no room for a lock of its own.
    private CancellationTokenSource? _cancellation;
    private CancellationToken? _replaced;
    private bool _cancelled;

    /// <summary>When its head was read; a timestamp of the service's clock.</summary>
    internal long Start { get; } = start;

    /// <summary>The request that <see cref="ServiceRequests"/> began.</summary>
    internal static ServiceRequest? Of(IFeatureCollection features) =>
        features.Get<IHttpRequestLifetimeFeature>() as ServiceRequest ??
        features.Get<ServiceRequest>();

    /// <summary>Makes sure that it is found again: the application may have put another lifetime
    /// feature in its place.</summary>
    internal void StayIn(IFeatureCollection features)
    {
        if (features.Get<IHttpRequestLifetimeFeature>() != this) features.Set(this);
    }

    /// <summary>Null: the server is not ours to count connections of.</summary>
    internal ClientConnection? Connection { get; init; }

    /// <summary>Cancelled when the client has left; not by a limit.</summary>
    internal CancellationToken ClientLeft => lifetime.RequestAborted;

    /// <summary>Null in tests without a server.</summary>
    internal IHttpResponseFeature? Response { get; init; }

    /// <summary>Whether its answer has begun.</summary>
    internal bool HasAnswer => Response?.HasStarted ?? false;

    /// <summary>Whether its limit has passed before an answer began.</summary>
    internal bool TimedOut => Volatile.Read(ref _cancelled);

    // Guarded by the lock of Admission.
    internal RequestList? List { get; set; }

    internal ServiceRequest? Previous { get; set; }

    internal ServiceRequest? Next { get; set; }

    public CancellationToken RequestAborted
    {
        get
        {
            lock (this)
            {
                if (_replaced is { } replaced) return replaced;
                _cancellation ??= CancellationTokenSource.CreateLinkedTokenSource(ClientLeft);
                if (_cancelled) _cancellation.Cancel();
                return _cancellation.Token;
            }
        }
        set
        {
            lock (this) _replaced = value;
        }
    }

    public void Abort() => lifetime.Abort();

    /// <summary>Cancels what runs for it, on another thread. Thread-safe.</summary>
    internal Task CancelAsync()
    {
        lock (this)
        {
            Volatile.Write(ref _cancelled, true);
            return _cancellation?.CancelAsync() ?? Task.CompletedTask;
        }
    }

    /// <summary>What it waits for in the queue. Called under the lock of Admission.</summary>
    internal TaskCompletionSource<AdmissionResult> BeginWait() =>
        _turn = new(TaskCreationOptions.RunContinuationsAsynchronously);

    internal Task<AdmissionResult> Turn => _turn!.Task;

    internal void EndWait(AdmissionResult result) => _turn!.TrySetResult(result);

    /// <summary>Its code has returned. The link to the client's token ends.</summary>
    internal void Release()
    {
        lock (this)
        {
            // Code that runs on may still ask for the token.
            _replaced ??= _cancellation?.Token ?? CancellationToken.None;
            _cancellation?.Dispose();
            _cancellation = null;
        }
    }
}
