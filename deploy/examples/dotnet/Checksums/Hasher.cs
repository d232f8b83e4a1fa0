// SPDX-License-Identifier: Apache-2.0
using System.Security.Cryptography;

namespace Checksums;

public sealed class Hasher(HashAlgorithmName algorithm)
{
    public string Algorithm => algorithm.Name!;

    public IncrementalHash Begin() => IncrementalHash.CreateHash(algorithm);

    public ValueTask<byte[]> HashAsync(Stream body, CancellationToken cancellation) =>
        CryptographicOperations.HashDataAsync(algorithm, body, cancellation);
}
