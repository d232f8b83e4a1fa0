// SPDX-License-Identifier: Apache-2.0

using System;
using System.IO;
using System.Text;
using System.Threading;
using Microsoft.Extensions.Logging;

namespace Cohost.Worker;

/// <summary>
/// One service's standard output or error, which becomes one event of the worker's log a line, or a
/// whole event where it is one of the console logger's. Thread-safe; a write is kept together.
/// Owned by the <see cref="ConsoleRouter"/>.
/// </summary>
internal sealed class LineLog(int row, string category, LogLevel level, IWorker worker) : TextWriter
{
    // A line that is longer is written in pieces.
    private const int LongestLine = 16 * 1024;

    private readonly Lock _lock = new();

    // Guarded by _lock: what has no end of line yet.
    private readonly StringBuilder _line = new();

    public override Encoding Encoding => Encoding.UTF8;

    public override void Write(char value) => Write([value]);

    public override void Write(string? value) => Write(value.AsSpan());

    public override void Write(char[] buffer, int index, int count) =>
        Write(buffer.AsSpan(index, count));

    public override void Write(ReadOnlySpan<char> buffer)
    {
        lock (_lock)
        {
            Append(buffer);
        }
    }

    public override void WriteLine(string? value)
    {
        lock (_lock)
        {
            Append(value);
            Append("\n");
        }
    }

    private void Append(ReadOnlySpan<char> text)
    {
        if (_line.Length == 0 && LoggedEvent.Parse(text) is { } logged)
        {
            worker.Log(row, logged.Level, logged.Category, logged.Message);
            return;
        }
        while (true)
        {
            int end = text.IndexOf('\n');
            if (end < 0) break;
            _line.Append(text[..end]);
            Emit();
            text = text[(end + 1)..];
        }
        _line.Append(text);
        if (_line.Length >= LongestLine) Emit();
    }

    private void Emit()
    {
        if (_line.Length > 0 && _line[^1] == '\r') _line.Length--;
        worker.Log(row, level, category, _line.ToString());
        _line.Clear();
    }
}
