// SPDX-License-Identifier: Apache-2.0
using Greeter.V1;
using Grpc.Core;

namespace Grpc;

internal sealed class GreeterService : Greeter.V1.Greeter.GreeterBase
{
    public override Task<GreetReply> Greet(GreetRequest request, ServerCallContext context)
    {
        if (request.Name.Length == 0)
        {
            throw new RpcException(new Status(StatusCode.InvalidArgument, "a name is needed"));
        }

        context.ResponseTrailers.Add("letters", request.Name.Length.ToString());
        return Task.FromResult(new GreetReply { Text = $"hello {request.Name}" });
    }

    public override async Task GreetOften(
        GreetRequest request, IServerStreamWriter<GreetReply> replies, ServerCallContext context)
    {
        for (var i = 1; i <= 3; i++)
        {
            await replies.WriteAsync(new GreetReply { Text = $"hello {request.Name} {i}" });
        }
    }
}
