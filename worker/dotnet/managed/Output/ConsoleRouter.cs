// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Concurrent;
using System.IO;
using System.Text;
using Microsoft.Extensions.Logging;

namespace Cohost.Worker;

/// <summary>
/// Console.Out or Console.Error of the process: what a service writes goes into its log, or to the
/// writer that the application set for itself; what is nobody's goes to the worker's own stream.
/// Thread-safe. Made once a stream; lives as long as the process.
/// </summary>
internal sealed class ConsoleRouter(
    string category, LogLevel level, IWorker worker, TextWriter own) : TextWriter
{
    private readonly ConcurrentDictionary<int, TextWriter> _logs = new();
    private readonly ConcurrentDictionary<int, TextWriter> _replaced = new();

    // A writer that an application set may write to the one that it found, which is this one.
    [ThreadStatic]
    private static bool s_inReplaced;

    public override Encoding Encoding => Encoding.UTF8;

    /// <summary>From now on that service writes to a writer of its own.</summary>
    internal void Replace(int row, TextWriter writer) => _replaced[row] = writer;

    public override void Write(char value) => Use(value, static (to, it) => to.Write(it));

    public override void Write(string? value) => Use(value, static (to, it) => to.Write(it));

    public override void Write(char[] buffer, int index, int count) =>
        Use(new ArraySegment<char>(buffer, index, count), static (to, it) => to.Write(it.AsSpan()));

    public override void Write(ReadOnlySpan<char> buffer) => Write(buffer.ToString());

    // One call each, so that a line stays together.
    public override void WriteLine() => WriteLine("");

    public override void WriteLine(char value) => WriteLine(value.ToString());

    public override void WriteLine(bool value) => WriteLine(value.ToString());

    public override void WriteLine(int value) => WriteLine(value.ToString(FormatProvider));

    public override void WriteLine(long value) => WriteLine(value.ToString(FormatProvider));

    public override void WriteLine(double value) => WriteLine(value.ToString(FormatProvider));

    public override void WriteLine(decimal value) => WriteLine(value.ToString(FormatProvider));

    public override void WriteLine(char[] buffer, int index, int count) =>
        WriteLine(new string(buffer, index, count));

    public override void WriteLine(ReadOnlySpan<char> buffer) => WriteLine(buffer.ToString());

    public override void WriteLine(string? value) =>
        Use(value, static (to, it) => to.WriteLine(it));

    public override void Flush() => Use(0, static (to, _) => to.Flush());

    private void Use<T>(T value, Action<TextWriter, T> write)
    {
        int row = CurrentService.Row;
        if (row == Boundary.NoService)
        {
            write(own, value);
        }
        else if (!s_inReplaced && _replaced.TryGetValue(row, out TextWriter? replaced))
        {
            s_inReplaced = true;
            try
            {
                write(replaced, value);
            }
            finally
            {
                s_inReplaced = false;
            }
        }
        else
        {
            write(LogOf(row), value);
        }
    }

    private TextWriter LogOf(int row) => _logs.GetOrAdd(
        row, static (row, router) => router.MakeLog(row), this);

    private LineLog MakeLog(int row) => new(row, category, level, worker);
}
