// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;

namespace Cohost.Worker;

/// <summary>
/// Lets one dictionary hold a value for each service under the same key: the hash of a partitioned
/// key carries the row of the service that asks, so that keys of different services never meet.
/// Other keys are everybody's. The dictionary must not hold more than that: whoever lists it sees
/// the keys of all. Thread-safe.
/// </summary>
/// <param name="isPartitioned">Of which keys each service has its own.</param>
/// <param name="currentRow">The row of the service that asks; -1: none.</param>
internal sealed class PartitionedKeys(Func<string, bool> isPartitioned, Func<int> currentRow)
    : IEqualityComparer<string>
{
    // The segment has 1024 rows; one more stands for none.
    private const int RowBits = 12;
    private const int RowMask = (1 << RowBits) - 1;

    public bool Equals(string? x, string? y) => string.Equals(x, y, StringComparison.Ordinal);

    public int GetHashCode(string obj)
    {
        // Dictionaries compare whole hashes before keys, so different rows are different keys.
        int hash = string.GetHashCode(obj) << RowBits;
        return isPartitioned(obj) ? hash | ((currentRow() + 1) & RowMask) : hash;
    }
}
