// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.IO;
using System.Linq;
using System.Net;
using System.Reflection;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace Cohost.Worker;

/// <summary>
/// Everything that the shim knows of the framework's private parts, in one place, seen in the
/// runtime named by <see cref="SeenIn"/>. <see cref="Missing"/> says at start what a newer runtime
/// has no longer; what needs it is left out then, as each member says, and the worker's log tells.
/// </summary>
internal static class FrameworkInternals
{
    internal const string SeenIn = "10.0.12";

    private const BindingFlags Statics =
        BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.Public;

    private const BindingFlags Instances = BindingFlags.Instance | BindingFlags.NonPublic |
        BindingFlags.Public | BindingFlags.DeclaredOnly;

    private static readonly Type? s_diagnosticSubscription =
        typeof(DiagnosticListener).GetNestedType("DiagnosticSubscription", BindingFlags.NonPublic);

    // Without it: Environment.GetCommandLineArgs is the worker's.
    private static readonly Part s_commandLine =
        Part.Of(typeof(Environment), "s_commandLineArgs", typeof(string[]));

    // Without it: Assembly.GetEntryAssembly is the shim's after the start.
    private static readonly Part s_entryAssembly =
        Part.Of(typeof(Assembly), "s_overriddenEntryAssembly", typeof(object));

    // Without them: AppContext.BaseDirectory is the shim's folder and switches are everybody's.
    private static readonly Part s_data =
        Part.Of(typeof(AppContext), "s_dataStore", typeof(Dictionary<string, object?>));

    private static readonly Part s_switches =
        Part.Of(typeof(AppContext), "s_switches", typeof(Dictionary<string, bool>));

    // Without them: the console is locked by all applications together.
    private static readonly Part s_out = Part.Of(typeof(Console), "s_out", typeof(TextWriter));

    private static readonly Part s_error = Part.Of(typeof(Console), "s_error", typeof(TextWriter));

    // Without one of these: an application's telemetry of that kind sees its neighbours.
    private static readonly Part s_activityListeners =
        Part.Of(typeof(ActivitySource), "s_allListeners", null);

    private static readonly Part s_meterListeners = Part.Of(
        typeof(MeterListener), "s_allStartedListeners", typeof(List<MeterListener>));

    private static readonly Part s_diagnosticListeners =
        Part.Of(typeof(DiagnosticListener), "s_allListeners", typeof(DiagnosticListener));

    private static readonly Part s_allListeners =
        Part.Of(typeof(DiagnosticListener), "s_allListenerObservable", null);

    // Every start walks all listeners of all applications, so their fields are looked up once.
    private static readonly FieldInfo? s_nextListener =
        FieldOf(typeof(DiagnosticListener), "_next");

    private static readonly FieldInfo? s_listenerSubscriptions =
        FieldOf(typeof(DiagnosticListener), "_subscriptions");

    private static readonly FieldInfo? s_nextSubscription =
        FieldOf(s_diagnosticSubscription, "Next");

    // Without it: connections go to the endpoints in their order, whatever these speak.
    private static readonly PropertyInfo? s_optionsInUse =
        typeof(KestrelServerOptions).GetProperty("OptionsInUse", Instances);

    private static readonly PropertyInfo? s_isTls =
        typeof(ListenOptions).GetProperty("IsTls", Instances);

    /// <summary>What this runtime has not, by name. Empty: all is there.</summary>
    internal static IReadOnlyList<string> Missing()
    {
        Part[] parts =
        [
            s_commandLine, s_entryAssembly, s_data, s_switches, s_out, s_error,
            s_activityListeners, s_meterListeners, s_diagnosticListeners, s_allListeners,
        ];
        var missing = parts.Where(part => part.Field is null).Select(part => part.Name).ToList();
        if (s_nextListener is null || s_listenerSubscriptions is null)
            missing.Add("DiagnosticListener._next and _subscriptions");
        if (s_nextSubscription is null)
            missing.Add("DiagnosticListener.DiagnosticSubscription.Next");
        if (s_optionsInUse is null) missing.Add("KestrelServerOptions.OptionsInUse");
        if (s_isTls is null) missing.Add("ListenOptions.IsTls");
        return missing;
    }

    internal static void SetCommandLine(string[]? arguments) =>
        s_commandLine.Field?.SetValue(null, arguments);

    internal static string[]? CommandLine => s_commandLine.Field?.GetValue(null) as string[];

    /// <summary>False: not possible.</summary>
    internal static bool SetEntryAssembly(Assembly assembly)
    {
        s_entryAssembly.Field?.SetValue(null, assembly);
        return s_entryAssembly.Field is not null;
    }

    /// <summary>Gives AppContext dictionaries that compare with <paramref name="keys"/> and
    /// <paramref name="switches"/>. Called once, before an application runs. False: not possible.
    /// </summary>
    internal static bool PartitionAppContext(
        IEqualityComparer<string> keys, IEqualityComparer<string> switches)
    {
        if (s_data.Field is null || s_switches.Field is null) return false;
        var data = (Dictionary<string, object?>?)s_data.Field.GetValue(null) ?? [];
        s_data.Field.SetValue(null, new Dictionary<string, object?>(data, keys));
        var set = (Dictionary<string, bool>?)s_switches.Field.GetValue(null) ?? [];
        s_switches.Field.SetValue(null, new Dictionary<string, bool>(set, switches));
        return true;
    }

    /// <summary>Console.SetOut without the lock that it puts around a writer.</summary>
    internal static void SetConsole(TextWriter output, TextWriter error)
    {
        if (s_out.Field is null) Console.SetOut(output);
        else s_out.Field.SetValue(null, output);
        if (s_error.Field is null) Console.SetError(error);
        else s_error.Field.SetValue(null, error);
    }

    internal static IEnumerable<ActivityListener> ActivityListeners()
    {
        object? list = s_activityListeners.Field?.GetValue(null);
        return Field(list, "_volatileArray") as ActivityListener[] ?? [];
    }

    internal static IReadOnlyList<MeterListener> MeterListeners()
    {
        if (s_meterListeners.Field?.GetValue(null) is not List<MeterListener> list) return [];
        PropertyInfo? guard = typeof(Instrument).GetProperty("SyncObject", Statics);
        lock (guard?.GetValue(null) ?? list) return [.. list];
    }

    /// <summary>Replaces the callback of one type of measurement by what <paramref name="wrap"/>
    /// makes of it.</summary>
    internal static void WrapMeasurements<T>(
        MeterListener listener, string field,
        Func<MeasurementCallback<T>, MeasurementCallback<T>> wrap)
        where T : struct
    {
        if (Field(listener, field) is MeasurementCallback<T> callback)
            listener.SetMeasurementEventCallback(wrap(callback));
    }

    /// <summary>Who subscribed to DiagnosticListener.AllListeners.</summary>
    internal static IEnumerable<Slot<IObserver<DiagnosticListener>>> AllListenersSubscribers()
    {
        object? first = Field(s_allListeners.Field?.GetValue(null), "_subscriptions");
        return Links(first, FieldOf(first?.GetType(), "Next"))
            .Select(link => new Slot<IObserver<DiagnosticListener>>(link, "Subscriber"));
    }

    /// <summary>Subscriptions to single diagnostic listeners.</summary>
    internal static IEnumerable<DiagnosticSubscription> DiagnosticSubscriptions()
    {
        object? listener = s_diagnosticListeners.Field?.GetValue(null);
        for (; listener is not null; listener = s_nextListener?.GetValue(listener))
        {
            object? link = s_listenerSubscriptions?.GetValue(listener);
            for (; link is not null; link = s_nextSubscription?.GetValue(link))
                yield return new DiagnosticSubscription(link);
        }
    }

    /// <summary>What a bound endpoint speaks; null: not known.</summary>
    internal static (bool IsTls, HttpProtocols Protocols)? Describe(
        KestrelServerOptions options, EndPoint endPoint)
    {
        if (s_optionsInUse?.GetValue(options) is not List<ListenOptions> bound) return null;
        ListenOptions? found = bound.FirstOrDefault(
            candidate => candidate.EndPoint is { } own && own.Equals(endPoint));
        if (found is null || s_isTls?.GetValue(found) is not bool isTls) return null;
        return (isTls, found.Protocols);
    }

    /// <summary>
    /// HostingApplication.Context.HttpContext: the request of a hosting context. Null for another
    /// type of context or when it is gone: then requests are neither limited nor counted.
    /// </summary>
    internal static Func<TContext, HttpContext?>? HttpContextOf<TContext>()
    {
        MethodInfo? getter = typeof(TContext).GetProperty(
            "HttpContext", BindingFlags.Public | BindingFlags.Instance)?.GetMethod;
        if (getter is null || typeof(TContext).IsValueType) return null;
        return getter.ReturnType == typeof(HttpContext)
            ? getter.CreateDelegate<Func<TContext, HttpContext?>>() : null;
    }

    private static object? Field(object? target, string name) =>
        target is null ? null : FieldOf(target.GetType(), name)?.GetValue(target);

    private static FieldInfo? FieldOf(Type? type, string name)
    {
        for (; type is not null; type = type.BaseType)
        {
            if (type.GetField(name, Instances) is { } field) return field;
        }
        return null;
    }

    private static IEnumerable<object> Links(object? first, FieldInfo? next)
    {
        for (object? link = first; link is not null; link = next?.GetValue(link))
            yield return link;
    }

    /// <summary>A field of a private object, by reference.</summary>
    internal readonly struct Slot<T>(object owner, string name)
        where T : class
    {
        internal object Owner { get; } = owner;

        internal T? Value => Field(Owner, name) as T;

        internal void Replace(Func<T, T> wrap)
        {
            if (Value is { } value) FieldOf(Owner.GetType(), name)!.SetValue(Owner, wrap(value));
        }
    }

    /// <summary>DiagnosticListener.DiagnosticSubscription.</summary>
    internal readonly struct DiagnosticSubscription(object link)
    {
        internal object Link { get; } = link;

        internal DiagnosticListener? Listener => Field(Link, "Owner") as DiagnosticListener;

        internal Slot<IObserver<KeyValuePair<string, object?>>> Observer => new(Link, "Observer");

        internal Slot<Predicate<string>> IsEnabled => new(Link, "IsEnabled1Arg");

        internal Slot<Func<string, object?, object?, bool>> IsEnabledWithObjects =>
            new(Link, "IsEnabled3Arg");

        internal void End() => (Link as IDisposable)?.Dispose();
    }

    private readonly record struct Part(string Name, FieldInfo? Field)
    {
        // A field of another type is as good as none.
        internal static Part Of(Type type, string name, Type? fieldType)
        {
            FieldInfo? field = type.GetField(name, Statics);
            if (fieldType is not null && field?.FieldType != fieldType) field = null;
            return new Part($"{type.Name}.{name}", field);
        }
    }
}
