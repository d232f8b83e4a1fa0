// SPDX-License-Identifier: Apache-2.0

using System;
using System.Reflection;

namespace Cohost.Worker;

/// <summary>
/// Assembly.GetEntryAssembly: the application's own while it starts, after that one that stands for
/// the assembly of whatever service asks.
/// </summary>
internal sealed class EntryAssembly(Func<Service?> current) : IProcessPart
{
    private readonly EntryAssemblyProxy _proxy =
        new(() => current()?.Main?.Assembly ?? typeof(Shim).Assembly);

    public void Open(Service service) => Assembly.SetEntryAssembly(service.Main!.Assembly);

    public void Close(Service service)
    {
        if (!FrameworkInternals.SetEntryAssembly(_proxy))
            Assembly.SetEntryAssembly(typeof(Shim).Assembly);
    }
}
