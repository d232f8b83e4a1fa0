// SPDX-License-Identifier: Apache-2.0

using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Console;
using Xunit;

namespace Cohost.Worker.Tests;

[Collection("process")]
public sealed class LoggedEventTests
{
    [Fact]
    public void LevelCategoryAndMessageAreKept()
    {
        Assert.Equal(
            new LoggedEvent(LogLevel.Warning, "Shop.Orders", "first\n  second\n"),
            LoggedEvent.Parse("warn: Shop.Orders[7]\n      first\n        second\n      \n"));
    }

    [Theory]
    [InlineData("")]
    [InlineData("warn: \n")]
    [InlineData("warn: Shop.Orders[7]\n")]
    [InlineData("warn: Shop.Orders\n      message\n")]
    [InlineData("warn: [7]\n      message\n")]
    [InlineData("warn: Shop.Orders[7]\n      message")]
    [InlineData("warn: Shop.Orders[7]\nmessage\n")]
    [InlineData("note: Shop.Orders[7]\n      message\n")]
    [InlineData("plain\n")]
    public void AnythingElseIsPlainOutput(string text) => Assert.Null(LoggedEvent.Parse(text));

    [Fact]
    public async Task TheConsoleLoggerWritesWhatIsRead()
    {
        var worker = new FakeWorker();
        using var written = new LineLog(1, "stdout", LogLevel.Information, worker);
        System.IO.TextWriter before = System.Console.Out;
        System.Console.SetOut(written);
        try
        {
            var services = new ServiceCollection();
            services.AddLogging(logging => logging.AddSimpleConsole(
                options => options.ColorBehavior = LoggerColorBehavior.Disabled));
            await using ServiceProvider provider = services.BuildServiceProvider();
            provider.GetRequiredService<ILoggerFactory>().CreateLogger("Shop")
                .Log(LogLevel.Error, new EventId(3), "lost\nand found", null, (state, _) => state);
        }
        finally
        {
            System.Console.SetOut(before);
        }
        Assert.Equal("log 1 Error Shop: lost\nand found", Assert.Single(worker.Told));
    }
}
