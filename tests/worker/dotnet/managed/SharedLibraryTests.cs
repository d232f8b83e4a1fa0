// SPDX-License-Identifier: Apache-2.0

using System;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.Loader;
using Xunit;

namespace Cohost.Worker.Tests;

/// <summary>On assemblies that the tests make: Lower, Upper with a reference to it, and App with
/// references to both.</summary>
public sealed class SharedLibraryTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("cohost-test-");

    public SharedLibraryTests()
    {
        Make("one", "Lower");
        Make("one", "Upper", "Lower");
        Make("two", "Lower");
        Make("two", "Upper", "Lower");
        foreach (string application in new[] { "a", "b" })
        {
            Make(application, "Lower");
            Make(application, "Upper", "Lower");
            Make(application, "App", "Lower", "Upper");
        }
    }

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public void ApplicationsThatNameTheSamePathShareTheAssembly()
    {
        Assembly first = Application("a", "one/Lower.dll", "one/Upper.dll").LoadOf("Upper");
        Assembly second = Application("b", "one/Lower.dll", "one/Upper.dll").LoadOf("Upper");
        Assert.Same(first, second);
        Assert.Equal(PathOf("one/Upper.dll"), first.Location);
        Assert.IsType<SharedLibrary>(AssemblyLoadContext.GetLoadContext(first));
    }

    [Fact]
    public void AnApplicationThatNamesNoneHasItsOwn()
    {
        Assembly shared = Application("a", "one/Lower.dll", "one/Upper.dll").LoadOf("Upper");
        Assembly own = Application("b").LoadOf("Upper");
        Assert.NotSame(shared, own);
        Assert.Equal(PathOf("b/Upper.dll"), own.Location);
    }

    [Fact]
    public void AnotherPathIsAnotherLibrary()
    {
        Assembly first = Application("a", "one/Lower.dll", "one/Upper.dll").LoadOf("Upper");
        Assembly second = Application("b", "two/Lower.dll", "two/Upper.dll").LoadOf("Upper");
        Assert.NotSame(first, second);
        Assert.NotSame(BaseOf(first), BaseOf(second));
    }

    [Fact]
    public void WhatALibraryReferencesIsTheSharedOne()
    {
        ApplicationLoadContext application = Application("a", "one/Lower.dll", "one/Upper.dll");
        Assembly lower = application.LoadOf("Lower");
        Assert.Same(lower, BaseOf(application.LoadOf("Upper")));
    }

    [Fact]
    public void NothingElseIsFoundThroughALibrary()
    {
        ApplicationLoadContext application = Application("a", "one/Lower.dll", "one/Upper.dll");
        AssemblyLoadContext lower =
            AssemblyLoadContext.GetLoadContext(application.LoadOf("Lower"))!;
        // Upper is shared, but Lower does not reference it; App is an application's.
        Assert.Throws<FileNotFoundException>(() => lower.LoadOf("Upper"));
        Assert.Throws<FileNotFoundException>(() => lower.LoadOf("App"));
    }

    [Fact]
    public void WhatIsBesideALibraryIsItsAlone()
    {
        Make("three", "Lower");
        Make("three", "Upper", "Lower");
        ApplicationLoadContext application = Application("a", "three/Upper.dll");
        Assembly upper = application.LoadOf("Upper");
        Assert.Equal(PathOf("three/Lower.dll"), BaseOf(upper).Location);
        Assert.Equal(PathOf("a/Lower.dll"), application.LoadOf("Lower").Location);
    }

    [Fact]
    public void AFileThatIsNotThereIsToldByItsPath()
    {
        ApplicationLoadContext application = Application("a", "absent/Lower.dll");
        var failure = Assert.ThrowsAny<IOException>(() => application.LoadOf("Lower"));
        Assert.Contains(PathOf("absent/Lower.dll"), failure.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void SatellitesAreBesideTheLibrary()
    {
        MakeFor("de", "one/de", "Lower.resources");
        Assembly lower = Application("a", "one/Lower.dll").LoadOf("Lower");
        Assembly german = lower.GetSatelliteAssembly(new System.Globalization.CultureInfo("de"));
        Assert.Equal(PathOf("one/de/Lower.resources.dll"), german.Location);
    }

    private static Assembly BaseOf(Assembly upper) => upper.GetType("UpperType")!.BaseType!.Assembly;

    private ApplicationLoadContext Application(string name, params string[] shared) =>
        new(new ServiceSpec
        {
            Row = 1,
            Name = name,
            Application = PathOf(name + "/App.dll"),
            SharedLibraries = [.. shared.Select(PathOf)],
        });

    private string PathOf(string file) => Path.Combine(_folder.FullName, file);

    // FOLDER/NAME.dll with NAMEType, which derives from the first reference's.
    private void Make(string folder, string name, params string[] references) =>
        MakeFor("", folder, name, references);

    private void MakeFor(
        string culture, string folder, string name, params string[] references)
    {
        Directory.CreateDirectory(PathOf(folder));
        var assembly = new PersistedAssemblyBuilder(
            new AssemblyName(name) { CultureName = culture }, typeof(object).Assembly);
        TypeBuilder type = assembly.DefineDynamicModule(name)
            .DefineType(name + "Type", TypeAttributes.Public);
        // Not loaded from the folder, where it would be found again.
        var context = new AssemblyLoadContext(name, isCollectible: true);
        foreach (string reference in references)
        {
            using FileStream file = File.OpenRead(PathOf($"{folder}/{reference}.dll"));
            Type parent = context.LoadFromStream(file).GetType(reference + "Type")!;
            if (reference == references[0]) type.SetParent(parent);
            else type.DefineField(reference, parent, FieldAttributes.Public);
        }
        type.CreateType();
        assembly.Save(PathOf($"{folder}/{name}.dll"));
        context.Unload();
    }
}
