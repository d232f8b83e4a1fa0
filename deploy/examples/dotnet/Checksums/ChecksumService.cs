// SPDX-License-Identifier: Apache-2.0
using Checksums.V1;
using Google.Protobuf;
using Grpc.Core;

namespace Checksums;

public sealed class ChecksumService(Hasher hasher) : V1.Checksums.ChecksumsBase
{
    public override async Task<Checksum> Compute(IAsyncStreamReader<Part> requestStream, ServerCallContext context)
    {
        using var hash = hasher.Begin();
        await foreach (var part in requestStream.ReadAllAsync(context.CancellationToken))
        {
            hash.AppendData(part.Data.Span);
        }

        return new Checksum
        {
            Algorithm = hasher.Algorithm,
            Value = ByteString.CopyFrom(hash.GetHashAndReset()),
        };
    }
}
