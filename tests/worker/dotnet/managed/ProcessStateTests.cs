// SPDX-License-Identifier: Apache-2.0

using System.Globalization;
using Xunit;

namespace Cohost.Worker.Tests;

[Collection("process")]
public sealed class ProcessStateTests
{
    private readonly FakeWorker _worker = new();
    private readonly ProcessState _process;
    private bool _isAlone = true;

    public ProcessStateTests() => _process = new ProcessState(
        _worker, [new DefaultCultures(), new ThreadPoolLimits()], _ => _isAlone);

    [Fact]
    public void ADefaultCultureOfTheStartIsTheApplicationsOwn()
    {
        CultureInfo? before = CultureInfo.DefaultThreadCurrentCulture;
        Service service = Make(1);
        using (_process.OpenWindow(service))
        {
            CultureInfo.DefaultThreadCurrentCulture = CultureInfo.GetCultureInfo("tr-TR");
        }
        Assert.Same(before, CultureInfo.DefaultThreadCurrentCulture);
        Assert.Equal("tr-TR", service.Cultures.Culture?.Name);
    }

    [Fact]
    public void ADefaultCultureOfARequestIsTheApplicationsOwn()
    {
        CultureInfo? before = CultureInfo.DefaultThreadCurrentCulture;
        Service service = Make(1);
        CultureInfo.DefaultThreadCurrentCulture = CultureInfo.GetCultureInfo("de-DE");
        _process.AfterRequest(service);
        Assert.Same(before, CultureInfo.DefaultThreadCurrentCulture);
        Assert.Equal("de-DE", service.Cultures.Culture?.Name);
    }

    [Fact]
    public void ADefaultCultureThatANeighbourMayHaveChangedIsNobodys()
    {
        CultureInfo? before = CultureInfo.DefaultThreadCurrentCulture;
        Service service = Make(1);
        _isAlone = false;
        CultureInfo.DefaultThreadCurrentCulture = CultureInfo.GetCultureInfo("de-DE");
        _process.AfterRequest(service);
        Assert.Same(before, CultureInfo.DefaultThreadCurrentCulture);
        Assert.Null(service.Cultures.Culture);
    }

    [Fact]
    public void AMaximumOfThePoolIsRefusedWithAWarning()
    {
        System.Threading.ThreadPool.GetMaxThreads(out int before, out int io);
        using (_process.OpenWindow(Make(2)))
        {
            Assert.True(System.Threading.ThreadPool.SetMaxThreads(before - 1, io));
        }
        System.Threading.ThreadPool.GetMaxThreads(out int after, out _);
        Assert.Equal(before, after);
        Assert.StartsWith("Warning 2: ThreadPool.SetMaxThreads", Assert.Single(_worker.Told));
    }

    private Service Make(int row) => new(
        new ServiceSpec { Row = row, Name = $"service{row}", Application = "/srv/App.dll" },
        _worker, _process, () => { });
}
