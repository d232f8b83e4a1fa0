// SPDX-License-Identifier: Apache-2.0

using System;
using System.IO;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace Cohost.Worker.Tests;

/// <summary>A response that begins when the test says so.</summary>
internal sealed class FakeResponse : IHttpResponseFeature
{
    public int StatusCode { get; set; } = 200;

    public string? ReasonPhrase { get; set; }

    public IHeaderDictionary Headers { get; set; } = new HeaderDictionary();

    public Stream Body { get; set; } = Stream.Null;

    public bool HasStarted { get; set; }

    public void OnStarting(Func<object, Task> callback, object state)
    {
    }

    public void OnCompleted(Func<object, Task> callback, object state)
    {
    }
}
