// SPDX-License-Identifier: Apache-2.0
namespace Inbox;

// Appends what waits to messages.jsonl, one line for each message.
internal sealed class Writer(Queue queue, IHostEnvironment environment, ILogger<Writer> logger) : BackgroundService
{
    private const int MostInBatch = 100;

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        var path = Path.Combine(environment.ContentRootPath, "messages", "messages.jsonl");
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        while (await queue.Messages.WaitToReadAsync(stoppingToken))
        {
            var lines = new List<string>();
            while (lines.Count < MostInBatch && queue.Messages.TryRead(out var message))
            {
                lines.Add(message.GetRawText().ReplaceLineEndings(" "));
            }

            await File.AppendAllLinesAsync(path, lines, CancellationToken.None);
            queue.NoteWritten(lines.Count);
            logger.LogInformation("wrote {Count} messages", lines.Count);
        }
    }
}
