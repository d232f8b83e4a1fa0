// SPDX-License-Identifier: Apache-2.0
using Serilog.Core;
using Serilog.Events;
using System.Collections.Concurrent;

namespace SerilogLog;

internal sealed class EventNotes : ILogEventSink
{
    private readonly ConcurrentQueue<string> _rendered = [];

    public IEnumerable<string> Rendered => _rendered;

    public void Emit(LogEvent logEvent) => _rendered.Enqueue($"{logEvent.Level} {logEvent.RenderMessage()}");
}
