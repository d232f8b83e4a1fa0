// SPDX-License-Identifier: Apache-2.0
using Serilog.Core;
using Serilog.Events;
using System.Collections.Concurrent;

namespace SerilogLog;

internal sealed class EventNotes : ILogEventSink
{
    private readonly ConcurrentQueue<string> rendered = [];

    public IEnumerable<string> Rendered => rendered;

    public void Emit(LogEvent logEvent) => rendered.Enqueue($"{logEvent.Level} {logEvent.RenderMessage()}");
}
