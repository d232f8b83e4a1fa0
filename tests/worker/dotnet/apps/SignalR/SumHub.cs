// SPDX-License-Identifier: Apache-2.0
using Microsoft.AspNetCore.SignalR;

namespace SignalR;

internal sealed class SumHub : Hub
{
    public int Add(int left, int right) => left + right;

    public Task Tell(string text) => Clients.Caller.SendAsync("told", text);

    public async IAsyncEnumerable<int> Count(int to)
    {
        for (var i = 1; i <= to; i++)
        {
            await Task.Yield();
            yield return i;
        }
    }
}
