// SPDX-License-Identifier: Apache-2.0

using System;
using System.Reflection;
using Microsoft.AspNetCore.Http;

namespace Cohost.Worker;

/// <summary>
/// Everything that the shim knows of the framework's private parts, in one place. Each was seen in
/// the runtime named by <see cref="SeenIn"/>.
/// </summary>
internal static class FrameworkInternals
{
    internal const string SeenIn = "10.0.12";

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
}
