// SPDX-License-Identifier: Apache-2.0
using OpenTelemetry;
using System.Diagnostics;

namespace Telemetry;

internal sealed class SpanNotes : BaseProcessor<Activity>
{
    private readonly Notes _notes = new();

    public override void OnEnd(Activity data) => _notes.Add($"{data.DisplayName} {data.GetTagItem("url.path")}");

    public Task<IReadOnlyList<string>> FirstAsync(int count) => _notes.FirstAsync(count);
}
