// SPDX-License-Identifier: Apache-2.0

using System.Collections.Concurrent;
using System.Collections.Generic;
using Microsoft.Extensions.Logging;

namespace Cohost.Worker.Tests;

/// <summary>A worker that remembers what it is told, as one line each.</summary>
internal sealed class FakeWorker : IWorker
{
    private readonly ConcurrentQueue<string> _told = new();

    internal IReadOnlyList<string> Told => [.. _told];

    public void SetFolder(int row, string folder) => Add($"folder {row} {folder}");

    public void Log(int row, LogLevel level, string category, string text) =>
        Add($"log {row} {level} {category}: {text}");

    public void Started(int row, string? failure) => Add($"started {row} {failure}");

    public void Progress(int row) => Add($"progress {row}");

    public void ConnectionEnded(int row, Channel channel) =>
        Add($"connection ended {row} {channel}");

    public void Drained(int row, uint cancelled) => Add($"drained {row} {cancelled}");

    public void Stopped(int row) => Add($"stopped {row}");

    public void Notify(int row, Notice notice, string text) => Add($"{notice} {row}: {text}");

    private void Add(string line) => _told.Enqueue(line);
}
