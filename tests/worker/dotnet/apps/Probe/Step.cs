// SPDX-License-Identifier: Apache-2.0
namespace Probe;

internal enum StepKind
{
    Http1,
    Tls,
    Http2,
    Grpc,
    WebSocket,
}

internal sealed record Step(
    string Line,
    StepKind Kind,
    string Method,
    string Target,
    IReadOnlyList<(string Name, string Value)> Headers,
    int Endpoint,
    string? Body);
