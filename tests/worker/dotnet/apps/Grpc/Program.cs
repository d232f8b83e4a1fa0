// SPDX-License-Identifier: Apache-2.0
//
// gRPC over HTTP/2 cleartext: unary, server streaming, errors in trailers.
using Grpc;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddGrpc();
var app = builder.Build();

app.MapGrpcService<GreeterService>();
app.MapGet("/", () => "a gRPC service");

app.Run();
