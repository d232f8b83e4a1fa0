// SPDX-License-Identifier: Apache-2.0
using System.Diagnostics;

namespace Faulty;

internal static class Faults
{
    // Whether a client has come: what is slow once only.
    public static int Asked;

    // A timer that nothing refers to may be collected before it fires.
    public static Timer? Kept { get; set; }

    // Of a request that does not end, whatever its token says.
    public static Task Never { get; } = new TaskCompletionSource().Task;

    public static async void AsyncVoid()
    {
        await Task.Yield();
        throw new InvalidOperationException("async void");
    }

    public static string DereferenceNull()
    {
        string? nothing = null;
        return nothing!.Trim();
    }

    public static void Spin(int milliseconds)
    {
        var clock = Stopwatch.StartNew();
        while (clock.ElapsedMilliseconds < milliseconds)
        {
        }
    }
}
