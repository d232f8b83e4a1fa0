// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics;

namespace Telemetry;

internal static class Work
{
    public const string SourceName = "Telemetry.Work";

    public static ActivitySource Source { get; } = new(SourceName);
}
