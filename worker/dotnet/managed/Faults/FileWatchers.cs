// SPDX-License-Identifier: Apache-2.0

using System;
using System.Globalization;
using System.IO;

namespace Cohost.Worker;

/// <summary>
/// Every application takes an inotify instance or more for its configuration files, and a user has
/// few of them: where they would run out, applications watch by polling.
/// </summary>
internal static class FileWatchers
{
    internal const string PollingVariable = "DOTNET_USE_POLLING_FILE_WATCHER";

    private const string LimitFile = "/proc/sys/fs/inotify/max_user_instances";

    // A few for each service that a worker can hold.
    private const int Enough = 4096;

    /// <summary>Null: there are enough instances. Otherwise what the log is told.</summary>
    internal static string? WhyPolling(string limitFile = LimitFile)
    {
        string text;
        try
        {
            text = File.ReadAllText(limitFile).Trim();
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return $"applications poll for changed files: {e.Message}";
        }
        if (int.TryParse(text, CultureInfo.InvariantCulture, out int limit) && limit >= Enough)
            return null;
        return $"applications poll for changed files: fs.inotify.max_user_instances is {text}, " +
            $"less than {Enough}";
    }
}
