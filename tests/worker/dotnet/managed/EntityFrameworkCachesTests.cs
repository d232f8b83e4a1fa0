// SPDX-License-Identifier: Apache-2.0

using System;
using System.IO;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.Loader;
using Xunit;

namespace Cohost.Worker.Tests;

/// <summary>On an assembly with the one class that matters, whose GetOrAdd returns the cache
/// itself.</summary>
public sealed class EntityFrameworkCachesTests : IDisposable
{
    private const string CacheType = "Microsoft.EntityFrameworkCore.Internal.ServiceProviderCache";
    private const string InstanceField = "<Instance>k__BackingField";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("cohost-test-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public void EachServiceHasACacheOfItsOwn()
    {
        Func<object> ask = Shared(Make(isVirtual: true));
        var first = new ServiceTag(1);
        var second = new ServiceTag(2);
        object ofFirst = Ask(first, ask);
        Assert.Same(ofFirst, Ask(first, ask));
        Assert.NotSame(ofFirst, Ask(second, ask));
        Assert.Equal(CacheType, ofFirst.GetType().FullName);
    }

    [Fact]
    public void AnotherServiceInARowThatWasUsedStartsWithAnEmptyOne()
    {
        Func<object> ask = Shared(Make(isVirtual: true));
        Assert.NotSame(Ask(new ServiceTag(1), ask), Ask(new ServiceTag(1), ask));
    }

    [Fact]
    public void CodeOfNoServiceHasTheOneThatWasThere()
    {
        Assembly library = Load(Make(isVirtual: true));
        object before = Instance(library);
        EntityFrameworkCaches.Install(library);
        Assert.NotSame(before, Instance(library));
        Assert.Same(before, Ask(null, () => GetOrAdd(library)));
    }

    [Fact]
    public void AnotherVersionIsNotShared()
    {
        Assembly library = Load(Make(isVirtual: false));
        var failure = Assert.Throws<NotSupportedException>(
            () => EntityFrameworkCaches.Install(library));
        Assert.Contains("cannot be shared", failure.Message, StringComparison.Ordinal);
    }

    private static Func<object> Shared(string path)
    {
        Assembly library = Load(path);
        EntityFrameworkCaches.Install(library);
        return () => GetOrAdd(library);
    }

    private static Assembly Load(string path) =>
        new AssemblyLoadContext("library").LoadFromAssemblyPath(path);

    private static object Instance(Assembly library) =>
        library.GetType(CacheType)!.GetProperty("Instance")!.GetValue(null)!;

    private static object GetOrAdd(Assembly library) =>
        library.GetType(CacheType)!.GetMethod("GetOrAdd")!.Invoke(Instance(library), ["", true])!;

    private static object Ask(ServiceTag? tag, Func<object> ask)
    {
        CurrentService.Set(tag);
        try
        {
            return ask();
        }
        finally
        {
            CurrentService.Set(null);
        }
    }

    private string Make(bool isVirtual)
    {
        string name = EntityFrameworkCaches.Library;
        var assembly = new PersistedAssemblyBuilder(new AssemblyName(name), typeof(object).Assembly);
        TypeBuilder type = assembly.DefineDynamicModule(name)
            .DefineType(CacheType, TypeAttributes.Public);
        ConstructorBuilder constructor = type.DefineDefaultConstructor(MethodAttributes.Public);
        FieldBuilder field = type.DefineField(InstanceField, type,
            FieldAttributes.Private | FieldAttributes.Static | FieldAttributes.InitOnly);
        ILGenerator initialise = type.DefineTypeInitializer().GetILGenerator();
        initialise.Emit(OpCodes.Newobj, constructor);
        initialise.Emit(OpCodes.Stsfld, field);
        initialise.Emit(OpCodes.Ret);
        MethodBuilder getter = type.DefineMethod("get_Instance",
            MethodAttributes.Public | MethodAttributes.Static | MethodAttributes.SpecialName,
            type, Type.EmptyTypes);
        ILGenerator get = getter.GetILGenerator();
        get.Emit(OpCodes.Ldsfld, field);
        get.Emit(OpCodes.Ret);
        type.DefineProperty("Instance", PropertyAttributes.None, type, null).SetGetMethod(getter);
        MethodBuilder getOrAdd = type.DefineMethod("GetOrAdd",
            MethodAttributes.Public | MethodAttributes.HideBySig |
                (isVirtual ? MethodAttributes.Virtual | MethodAttributes.NewSlot : 0),
            typeof(object), [typeof(object), typeof(bool)]);
        ILGenerator code = getOrAdd.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Ret);
        type.CreateType();
        string path = Path.Combine(_folder.FullName, name + ".dll");
        assembly.Save(path);
        return path;
    }
}
