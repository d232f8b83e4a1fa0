// SPDX-License-Identifier: Apache-2.0

using System;
using System.IO;
using Microsoft.AspNetCore.DataProtection;
using Microsoft.AspNetCore.DataProtection.Infrastructure;
using Microsoft.Extensions.DependencyInjection;
using Xunit;

namespace Cohost.Worker.Tests;

public sealed class DataProtectionDefaultsTests : IDisposable
{
    private readonly DirectoryInfo _data = Directory.CreateTempSubdirectory("cohost-test-");

    public void Dispose() => _data.Delete(recursive: true);

    [Fact]
    public void ALoginOutlivesARevision()
    {
        string login = Protector("/trees/1/App.dll").Protect("user");
        Assert.Equal("user", Protector("/trees/2/App.dll").Unprotect(login));
    }

    [Fact]
    public void AnotherServiceCannotReadIt()
    {
        string login = Protector("/trees/1/App.dll").Protect("user");
        Assert.ThrowsAny<Exception>(
            () => Protector("/trees/1/App.dll", name: "other").Unprotect(login));
    }

    [Fact]
    public void TheDeploymentsNameIsTheDiscriminator()
    {
        ServiceSpec spec = Spec("/trees/1/App.dll") with { DataProtectionName = "/var/www/app" };
        Assert.Equal("/var/www/app", StableDiscriminator.NameOf(spec));
    }

    [Fact]
    public void KeysAreInTheDataFolder()
    {
        Protector("/trees/1/App.dll").Protect("user");
        Assert.NotEmpty(_data.GetFiles("key-*.xml", SearchOption.AllDirectories));
    }

    [Fact]
    public void AnApplicationsOwnSetUpIsLeftAlone()
    {
        DirectoryInfo own = _data.CreateSubdirectory("own");
        var services = new ServiceCollection();
        services.AddLogging().AddDataProtection().PersistKeysToFileSystem(own);
        services.AddSingleton<IApplicationDiscriminator>(new OwnDiscriminator());
        DataProtectionDefaults.Apply(Spec("/trees/1/App.dll"), services);
        using ServiceProvider provider = services.BuildServiceProvider();
        provider.GetRequiredService<IDataProtectionProvider>().CreateProtector("p").Protect("user");
        Assert.NotEmpty(own.GetFiles("key-*.xml"));
        Assert.IsType<OwnDiscriminator>(provider.GetRequiredService<IApplicationDiscriminator>());
    }

    private IDataProtector Protector(string application, string name = "shop")
    {
        var services = new ServiceCollection();
        services.AddLogging().AddDataProtection();
        DataProtectionDefaults.Apply(Spec(application) with { Name = name }, services);
        ServiceProvider provider = services.BuildServiceProvider();
        return provider.GetRequiredService<IDataProtectionProvider>().CreateProtector("login");
    }

    private ServiceSpec Spec(string application) => new()
    {
        Row = 1,
        Name = "shop",
        Application = application,
        DataFolder = _data.FullName,
    };

    private sealed class OwnDiscriminator : IApplicationDiscriminator
    {
        public string Discriminator => "own";
    }
}
