// SPDX-License-Identifier: Apache-2.0
//
// Faults that no runtime survives.
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

var builder = WebApplication.CreateBuilder(args);
var app = builder.Build();

app.MapGet("/", () => "well");
app.MapGet("/fail-fast", () => Environment.FailFast("as asked"));
app.MapGet("/overflow", () => Overflow(0));
// Above the addresses whose faults become null references.
app.MapGet("/wild-write", () => Marshal.WriteInt64(0x7000_0000, 1));
app.MapGet("/native", () =>
{
    // A native function that reads where nothing is.
    Strlen(0x7000_0000);
});

app.Run();

[MethodImpl(MethodImplOptions.NoInlining)]
static int Overflow(int depth) => Overflow(depth + 1) + Overflow(depth + 2);

[DllImport("libc", EntryPoint = "strlen")]
static extern nint Strlen(nint text);
