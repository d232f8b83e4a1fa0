// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>
/// Environment.GetCommandLineArgs: the application's while it starts, and after that as long as it
/// is the only one. The array cannot be another one for each caller.
/// </summary>
internal sealed class CommandLine : IProcessPart
{
    private readonly string[]? _own = FrameworkInternals.CommandLine;
    private int _services;

    public void Open(Service service)
    {
        _services++;
        FrameworkInternals.SetCommandLine([service.Spec.Application, .. service.Spec.Arguments]);
    }

    public void Close(Service service)
    {
        if (_services > 1) FrameworkInternals.SetCommandLine(_own);
    }
}
