// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>One `listen` entry: its address, and the text of its `endpoint:`.</summary>
internal readonly record struct ServiceEndpoint(string Address, string Name);
