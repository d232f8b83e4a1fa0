// SPDX-License-Identifier: Apache-2.0

using System;

namespace Cohost.Worker;

/// <summary>
/// Exists so that hostfxr accepts the shim as the program of a command line. The worker calls
/// <see cref="Boundary.Initialize"/> instead of it.
/// </summary>
internal static class Program
{
    private static int Main()
    {
        Console.Error.WriteLine("Cohost.Worker runs inside cohost-worker, not by itself.");
        return 1;
    }
}
