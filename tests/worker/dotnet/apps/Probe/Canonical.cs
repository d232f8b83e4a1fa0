// SPDX-License-Identifier: Apache-2.0
using System.Text.RegularExpressions;

namespace Probe;

// Replaces what differs between two runs of the same application: times, random identifiers, encrypted values, and names
// made of the application's path.
internal static partial class Canonical
{
    public static string Of(string answer)
    {
        answer = Date().Replace(answer, "$1: <time>");
        answer = CookieEnd().Replace(answer, "expires=<time>");
        answer = TimeTag().Replace(answer, "$1<etag>");
        answer = Trace().Replace(answer, "<trace>");
        answer = AntiforgeryCookie().Replace(answer, ".AspNetCore.Antiforgery.<application>");
        answer = Protected().Replace(answer, "<protected>");
        return Identifier().Replace(answer, "\"$1\":\"<id>\"");
    }

    [GeneratedRegex("^(Date|Last-Modified|Expires): [^\r\n]+", RegexOptions.Multiline | RegexOptions.IgnoreCase)]
    private static partial Regex Date();

    // Except the one that removes a cookie.
    [GeneratedRegex("expires=(?!Thu, 01 Jan 1970)[^;\r\n]+ GMT")]
    private static partial Regex CookieEnd();

    // The static file middleware makes its tag of a file's time and length; other tags are hashes of the content.
    [GeneratedRegex("^(ETag: )\"[0-9a-f]{10,16}\"", RegexOptions.Multiline | RegexOptions.IgnoreCase)]
    private static partial Regex TimeTag();

    [GeneratedRegex("00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]")]
    private static partial Regex Trace();

    [GeneratedRegex(@"\.AspNetCore\.Antiforgery\.[\w-]+")]
    private static partial Regex AntiforgeryCookie();

    // Every value of Data Protection begins with the same magic number; in JSON its plus signs are escaped.
    [GeneratedRegex(@"CfDJ8(?:[A-Za-z0-9_/+%-]|\\u002B)+=*")]
    private static partial Regex Protected();

    [GeneratedRegex("\"(connectionId|connectionToken|prerenderId)\":\"[^\"]*\"")]
    private static partial Regex Identifier();
}
