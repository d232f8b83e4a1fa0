// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics.Metrics;

namespace Telemetry;

// Listens to the framework's http.server.request.duration without a word of whose requests.
internal sealed class MeasurementNotes : IDisposable
{
    private readonly MeterListener _listener = new();
    private readonly Notes _notes = new();

    public MeasurementNotes()
    {
        _listener.InstrumentPublished = (instrument, self) =>
        {
            if (instrument.Name == "http.server.request.duration")
            {
                self.EnableMeasurementEvents(instrument);
            }
        };
        _listener.SetMeasurementEventCallback<double>((instrument, value, tags, state) =>
        {
            foreach (var (key, tag) in tags)
            {
                if (key == "http.route")
                {
                    _notes.Add($"{tag}");
                }
            }
        });
        _listener.Start();
    }

    public Task<IReadOnlyList<string>> FirstAsync(int count) => _notes.FirstAsync(count);

    public void Dispose() => _listener.Dispose();
}
