// SPDX-License-Identifier: Apache-2.0

using Xunit;

namespace Cohost.Worker.Tests;

/// <summary>Tests that change what the process has once: they run one at a time.</summary>
[CollectionDefinition("process", DisableParallelization = true)]
public sealed class ProcessTests;
