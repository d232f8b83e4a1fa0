// SPDX-License-Identifier: Apache-2.0

using System.Globalization;
using System.Threading;
using Xunit;

namespace Cohost.Worker.Tests;

public sealed class RequestContextsTests
{
    private static readonly AsyncLocal<string?> s_value = new();

    private readonly RequestContexts _contexts = new();
    private readonly Cultures _cultures = new(CultureInfo.InvariantCulture, null);

    [Fact]
    public void ASecondRequestOfTheConnectionGetsWhatTheFirstMade()
    {
        ExecutionContext before = ExecutionContext.Capture()!;
        Assert.False(_contexts.TryEnter(_cultures));
        s_value.Value = "entered";
        _contexts.Keep(before, ExecutionContext.Capture(), _cultures);

        ExecutionContext.Restore(before);
        Assert.Null(s_value.Value);
        Assert.True(_contexts.TryEnter(_cultures));
        Assert.Equal("entered", s_value.Value);
    }

    [Fact]
    public void AnotherContextIsLeftAsItIs()
    {
        ExecutionContext before = ExecutionContext.Capture()!;
        s_value.Value = "entered";
        _contexts.Keep(before, ExecutionContext.Capture(), _cultures);

        ExecutionContext.Restore(before);
        s_value.Value = "other";
        Assert.False(_contexts.TryEnter(_cultures));
        Assert.Equal("other", s_value.Value);
    }

    [Fact]
    public void ChangedCulturesAreEnteredAnew()
    {
        ExecutionContext before = ExecutionContext.Capture()!;
        _contexts.Keep(before, before, _cultures);
        Cultures changed = _cultures with { UICulture = CultureInfo.InvariantCulture };
        Assert.False(_contexts.TryEnter(changed));
    }
}
