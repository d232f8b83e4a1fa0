// SPDX-License-Identifier: Apache-2.0

using System;
using System.Reflection;

namespace Cohost.Worker;

/// <summary>
/// The state of the process that every application takes for its own. A window makes it one
/// application's while that starts, then puts back what it was and keeps what the application
/// wanted. On the starting thread only.
/// </summary>
internal sealed class ProcessState
{
    private readonly EnvironmentVariables _environment = new();

    /// <summary>The window closes when the result is disposed.</summary>
    internal IDisposable OpenWindow(Service service) => new Window(this, service);

    private sealed class Window : IDisposable
    {
        private readonly ProcessState _process;
        private readonly Service _service;
        private readonly Assembly? _entry = Assembly.GetEntryAssembly();

        internal Window(ProcessState process, Service service)
        {
            _process = process;
            _service = service;
            process._environment.Open(service.Spec);
            Assembly.SetEntryAssembly(service.Main!.Assembly);
        }

        public void Dispose()
        {
            Assembly.SetEntryAssembly(_entry);
            foreach (string conflict in _process._environment.Close(_service.Spec))
                _service.Warn(conflict);
        }
    }
}
