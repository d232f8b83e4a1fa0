// SPDX-License-Identifier: Apache-2.0
//
// Checksums by one algorithm: HTTP/1 for people and scripts, gRPC on an endpoint of its own for programs.
using Checksums;
using System.Security.Cryptography;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddGrpc();
var algorithm = new HashAlgorithmName(builder.Configuration["algorithm"] ?? "SHA256");
builder.Services.AddSingleton(new Hasher(algorithm));
var app = builder.Build();

app.MapGet("/", () => $"POST a body to / for its {algorithm.Name}; gRPC: checksums.v1.Checksums/Compute");
app.MapPost("/", async (HttpRequest request, Hasher hasher) =>
    Convert.ToHexStringLower(await hasher.HashAsync(request.Body, request.HttpContext.RequestAborted)));
app.MapGrpcService<ChecksumService>();

app.Run();
