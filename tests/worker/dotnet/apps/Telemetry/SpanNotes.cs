// SPDX-License-Identifier: Apache-2.0
using OpenTelemetry;
using System.Diagnostics;

namespace Telemetry;

internal sealed class SpanNotes : BaseProcessor<Activity>
{
    private readonly Notes notes = new();

    public override void OnEnd(Activity data) => notes.Add($"{data.DisplayName} {data.GetTagItem("url.path")}");

    public Task<IReadOnlyList<string>> FirstAsync(int count) => notes.FirstAsync(count);
}
