// SPDX-License-Identifier: Apache-2.0

using System.Globalization;

namespace Cohost.Worker;

/// <summary>Cultures of an application's requests; null: the process's. Immutable.</summary>
internal sealed record Cultures(CultureInfo? Culture, CultureInfo? UICulture);
