// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics.Metrics;

namespace Telemetry;

// Listens to the framework's http.server.request.duration without a word of whose requests.
internal sealed class MeasurementNotes : IDisposable
{
    private readonly MeterListener listener = new();
    private readonly Notes notes = new();

    public MeasurementNotes()
    {
        listener.InstrumentPublished = (instrument, self) =>
        {
            if (instrument.Name == "http.server.request.duration")
            {
                self.EnableMeasurementEvents(instrument);
            }
        };
        listener.SetMeasurementEventCallback<double>((instrument, value, tags, state) =>
        {
            foreach (var (key, tag) in tags)
            {
                if (key == "http.route")
                {
                    notes.Add($"{tag}");
                }
            }
        });
        listener.Start();
    }

    public Task<IReadOnlyList<string>> FirstAsync(int count) => notes.FirstAsync(count);

    public void Dispose() => listener.Dispose();
}
