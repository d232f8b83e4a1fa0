// SPDX-License-Identifier: Apache-2.0

using System.Collections.Generic;
using System.Linq;
using Xunit;

namespace Cohost.Worker.Tests;

public sealed class PartitionedKeysTests
{
    private int _row = -1;

    [Fact]
    public void EachServiceHasItsOwnValueOfAPartitionedKey()
    {
        Dictionary<string, int> values = Make();
        foreach (int row in Enumerable.Range(-1, 1025))
        {
            _row = row;
            values["own"] = row;
        }
        foreach (int row in Enumerable.Range(-1, 1025))
        {
            _row = row;
            Assert.Equal(row, values["own"]);
        }
    }

    [Fact]
    public void AServiceThatSetNothingFindsNothing()
    {
        Dictionary<string, int> values = Make();
        _row = 1;
        values["own"] = 1;
        _row = 2;
        Assert.False(values.ContainsKey("own"));
        values.Remove("own");
        _row = 1;
        Assert.Equal(1, values["own"]);
    }

    [Fact]
    public void OtherKeysAreEverybodys()
    {
        Dictionary<string, int> values = Make();
        _row = 1;
        values["shared"] = 1;
        _row = 2;
        Assert.Equal(1, values["shared"]);
    }

    private Dictionary<string, int> Make() =>
        new(new PartitionedKeys(key => key == "own", () => _row));
}
