// SPDX-License-Identifier: Apache-2.0

using System.Reflection;
using System.Runtime.Loader;

namespace Cohost.Worker.Tests;

internal static class LoadContexts
{
    internal static Assembly LoadOf(this AssemblyLoadContext context, string name) =>
        context.LoadFromAssemblyName(new AssemblyName(name));
}
