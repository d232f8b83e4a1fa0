// SPDX-License-Identifier: Apache-2.0

using System;
using System.Text;
using Microsoft.Extensions.Logging;

namespace Cohost.Worker;

/// <summary>
/// One event as the console logger of Microsoft.Extensions.Logging writes it by default, in one
/// piece:
/// <code>
/// warn: Shop.Orders[7]
///       the message, each of its lines with six spaces before it
/// </code>
/// So applications that log to the console, as most do, keep level and category in the worker's
/// log. Anything else is plain output.
/// </summary>
internal readonly record struct LoggedEvent(LogLevel Level, string Category, string Message)
{
    private const string Indent = "      ";

    /// <summary>Null: it is something else.</summary>
    internal static LoggedEvent? Parse(ReadOnlySpan<char> text)
    {
        if (text.Length < Indent.Length || text[^1] != '\n') return null;
        if (LevelOf(text[..Indent.Length]) is not { } level) return null;
        int end = text.IndexOf('\n');
        if (end == text.Length - 1) return null;
        ReadOnlySpan<char> name = text[Indent.Length..end];
        int bracket = name.LastIndexOf('[');
        if (bracket <= 0 || name[^1] != ']') return null;
        string? message = Unindent(text[(end + 1)..^1]);
        return message is null
            ? null : new LoggedEvent(level, name[..bracket].ToString(), message);
    }

    private static string? Unindent(ReadOnlySpan<char> lines)
    {
        var message = new StringBuilder(lines.Length);
        foreach (Range range in lines.Split('\n'))
        {
            ReadOnlySpan<char> line = lines[range];
            if (!line.StartsWith(Indent)) return null;
            if (message.Length > 0) message.Append('\n');
            message.Append(line[Indent.Length..]);
        }
        return message.ToString();
    }

    private static LogLevel? LevelOf(ReadOnlySpan<char> prefix) => prefix switch
    {
        "trce: " => LogLevel.Trace,
        "dbug: " => LogLevel.Debug,
        "info: " => LogLevel.Information,
        "warn: " => LogLevel.Warning,
        "fail: " => LogLevel.Error,
        "crit: " => LogLevel.Critical,
        _ => null,
    };
}
