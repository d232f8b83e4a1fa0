// SPDX-License-Identifier: Apache-2.0

using System.Diagnostics.Metrics;

namespace Cohost.Worker;

/// <summary>
/// Narrows a meter listener to one service: instruments of meters that a neighbour's host made are
/// not published to it, and measurements of shared ones (System.Net.Http, for example) reach it
/// only when code of the service makes them.
/// </summary>
internal static class OwnMeasurements
{
    internal static void Narrow(MeterListener listener, Service service)
    {
        if (listener.InstrumentPublished is { } published)
        {
            listener.InstrumentPublished = (instrument, own) =>
            {
                if (!IsForeign(instrument, service)) published(instrument, own);
            };
        }
        Narrow<byte>(listener, service, "_byteMeasurementCallback");
        Narrow<short>(listener, service, "_shortMeasurementCallback");
        Narrow<int>(listener, service, "_intMeasurementCallback");
        Narrow<long>(listener, service, "_longMeasurementCallback");
        Narrow<float>(listener, service, "_floatMeasurementCallback");
        Narrow<double>(listener, service, "_doubleMeasurementCallback");
        Narrow<decimal>(listener, service, "_decimalMeasurementCallback");
    }

    private static bool IsForeign(Instrument instrument, Service service) =>
        instrument.Meter.Scope is IMeterFactory factory && !service.OwnsMeters(factory);

    private static void Narrow<T>(MeterListener listener, Service service, string field)
        where T : struct =>
        FrameworkInternals.WrapMeasurements<T>(
            listener, field,
            callback => (instrument, measurement, tags, state) =>
            {
                if (service.IsCurrent) callback(instrument, measurement, tags, state);
            });
}
