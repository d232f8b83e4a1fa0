// SPDX-License-Identifier: Apache-2.0

using System;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

namespace Cohost.Worker;

/// <summary>
/// Entity Framework Core keeps what it makes of an application's options (providers of its own
/// services, with models and compiled queries) in one static cache, and throws when that has more
/// than twenty entries, since one application should not need so many. Here each service gets a
/// cache of its own, which ends with the service: the static one is replaced by a class that is
/// derived from it at run time and asks the service's. Seen in version 10.0.0.
/// </summary>
internal static class EntityFrameworkCaches
{
    internal const string Library = "Microsoft.EntityFrameworkCore";

    private const string CacheType = "Microsoft.EntityFrameworkCore.Internal.ServiceProviderCache";

    internal static void Install(Assembly library)
    {
        Type? cache = library.GetType(CacheType);
        FieldInfo? instance = cache?.GetField(
            "<Instance>k__BackingField", BindingFlags.Static | BindingFlags.NonPublic);
        MethodInfo? getOrAdd = cache?.GetMethod(
            "GetOrAdd", BindingFlags.Instance | BindingFlags.Public | BindingFlags.DeclaredOnly);
        ConstructorInfo? constructor = cache?.GetConstructor(Type.EmptyTypes);
        if (cache is null || instance is null || constructor is null ||
            getOrAdd is not { IsVirtual: true, IsFinal: false })
        {
            throw new NotSupportedException(
                $"{library.GetName().Name} {library.GetName().Version} cannot be shared: it has no " +
                $"{CacheType} as version 10.0.0 has it. Take it out of dotnet.shared_libraries");
        }
        object? common = instance.GetValue(null);
        var caches = new ConditionalWeakTable<ServiceTag, object>();
        Func<object?> current = () => CurrentService.Tag is { } tag
            ? caches.GetValue(tag, _ => constructor.Invoke(null)) : common;
        Replace(instance, Derive(library, cache, constructor, getOrAdd, current));
    }

    // class ServiceCaches : ServiceProviderCache {
    //   public static Func<object> Current;
    //   public override ... GetOrAdd(...) => ((ServiceProviderCache)Current()).GetOrAdd(...); }
    private static object Derive(Assembly library, Type cache, ConstructorInfo constructor,
        MethodInfo getOrAdd, Func<object?> current)
    {
        // References of the new class are resolved as those of the library.
        using AssemblyLoadContext.ContextualReflectionScope scope =
            AssemblyLoadContext.GetLoadContext(library)!.EnterContextualReflection();
        const string name = "Cohost.Worker.EntityFramework";
        TypeBuilder type = AssemblyBuilder
            .DefineDynamicAssembly(new AssemblyName(name), AssemblyBuilderAccess.Run)
            .DefineDynamicModule(name)
            .DefineType("ServiceCaches", TypeAttributes.Public | TypeAttributes.Sealed, cache);
        FieldBuilder field = type.DefineField(
            "Current", typeof(Func<object?>), FieldAttributes.Public | FieldAttributes.Static);
        ILGenerator make = type.DefineConstructor(
            MethodAttributes.Public, CallingConventions.HasThis, Type.EmptyTypes).GetILGenerator();
        make.Emit(OpCodes.Ldarg_0);
        make.Emit(OpCodes.Call, constructor);
        make.Emit(OpCodes.Ret);
        ParameterInfo[] parameters = getOrAdd.GetParameters();
        MethodBuilder method = type.DefineMethod(
            getOrAdd.Name, MethodAttributes.Public | MethodAttributes.Virtual |
            MethodAttributes.HideBySig, getOrAdd.ReturnType,
            Array.ConvertAll(parameters, parameter => parameter.ParameterType));
        ILGenerator code = method.GetILGenerator();
        code.Emit(OpCodes.Ldsfld, field);
        code.Emit(OpCodes.Callvirt, typeof(Func<object?>).GetMethod(nameof(Func<object>.Invoke))!);
        code.Emit(OpCodes.Castclass, cache);
        for (int i = 1; i <= parameters.Length; i++) code.Emit(OpCodes.Ldarg, (short)i);
        code.Emit(OpCodes.Callvirt, getOrAdd);
        code.Emit(OpCodes.Ret);
        Type made = type.CreateType();
        made.GetField("Current")!.SetValue(null, current);
        return Activator.CreateInstance(made)!;
    }

    // Reflection does not set a read-only static; code does. Compiled code that has read it as a
    // constant does not exist yet.
    private static void Replace(FieldInfo field, object value)
    {
        var method = new DynamicMethod(
            "Replace", null, [typeof(object)], field.DeclaringType!, skipVisibility: true);
        ILGenerator code = method.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Castclass, field.DeclaringType!);
        code.Emit(OpCodes.Stsfld, field);
        code.Emit(OpCodes.Ret);
        method.CreateDelegate<Action<object>>()(value);
    }
}
