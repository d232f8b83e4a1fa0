// SPDX-License-Identifier: Apache-2.0
//
// Asks applications what their scripts say (Script.cs), all at the same time, and writes what they answered, in a form
// that two runs of the same application have in common (Canonical.cs), to OUTPUT/NAME.txt.
//
//   dotnet Probe.dll OUTPUT FOLDER=ADDRESS:PORT[,ADDRESS:PORT...]...
//
// FOLDER: of the published application NAME, with its probe.txt. The addresses are those of its endpoints. Exit status 0:
// every script ran to its end, whatever the answers were; 1: one could not be read, or the arguments are wrong.
using Probe;
using System.Net;

if (args.Length < 2)
{
    Console.Error.WriteLine("usage: Probe OUTPUT FOLDER=ADDRESS:PORT[,ADDRESS:PORT...]...");
    return 1;
}

var output = args[0];
Directory.CreateDirectory(output);
var outcomes = await Task.WhenAll(args.Skip(1).Select(RunAsync));
return outcomes.All(good => good) ? 0 : 1;

async Task<bool> RunAsync(string argument)
{
    var (folder, addresses) = (argument[..argument.IndexOf('=')], argument[(argument.IndexOf('=') + 1)..]);
    var name = Path.GetFileName(folder.TrimEnd('/'));
    try
    {
        var steps = Script.Read(Path.Combine(folder, "probe.txt"));
        var session = new Session([.. addresses.Split(',').Select(IPEndPoint.Parse)]);
        await File.WriteAllTextAsync(Path.Combine(output, name + ".txt"), await session.RunAsync(steps));
        return true;
    }
    catch (Exception exception) when (exception is IOException or FormatException)
    {
        Console.Error.WriteLine($"{name}: {exception}");
        return false;
    }
}
