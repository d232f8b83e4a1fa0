// SPDX-License-Identifier: Apache-2.0
using System.Text.Json;

namespace Polls;

// The votes, kept in a file beside the application. Thread-safe.
public sealed class Ballot
{
    private readonly Lock _lock = new();
    private readonly string _path;
    private readonly Dictionary<string, int> _votes;

    public Ballot(IConfiguration configuration, IWebHostEnvironment environment)
    {
        Question = configuration["question"] ?? "Tabs or spaces?";
        var answers = configuration.GetSection("answers").Get<string[]>() ?? ["tabs", "spaces"];
        _path = Path.Combine(environment.ContentRootPath, "votes", "votes.json");
        var kept = File.Exists(_path)
            ? JsonSerializer.Deserialize<Dictionary<string, int>>(File.ReadAllText(_path)) ?? []
            : [];
        _votes = answers.ToDictionary(answer => answer, answer => kept.GetValueOrDefault(answer));
    }

    public string Question { get; }

    public IReadOnlyDictionary<string, int> Votes
    {
        get
        {
            lock (_lock)
            {
                return new Dictionary<string, int>(_votes);
            }
        }
    }

    public bool Vote(string answer)
    {
        lock (_lock)
        {
            if (!_votes.TryGetValue(answer, out var count))
            {
                return false;
            }

            _votes[answer] = count + 1;
            Directory.CreateDirectory(Path.GetDirectoryName(_path)!);
            File.WriteAllText(_path, JsonSerializer.Serialize(_votes));
            return true;
        }
    }
}
