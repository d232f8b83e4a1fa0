// SPDX-License-Identifier: Apache-2.0
//
// Three endpoints that the application's own settings name: HTTP/1 for people, HTTP/2 cleartext for programs, and TLS with
// a certificate of its own.
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
using var certificate = new CertificateRequest("CN=application.test", key, HashAlgorithmName.SHA256)
    .CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.ConfigureKestrel(options =>
{
    options.AddServerHeader = false;
    options.Limits.MaxRequestBodySize = 16;
    options.ConfigureHttpsDefaults(https => https.ServerCertificate = certificate);
});
var app = builder.Build();

app.MapGet("/", (HttpRequest request) => $"{request.Scheme} {request.Protocol}");
app.MapPost("/", async (HttpRequest request) =>
{
    using var reader = new StreamReader(request.Body);
    return await reader.ReadToEndAsync();
});
app.MapGet("/trailers", async (HttpResponse response) =>
{
    await response.WriteAsync("body");
    response.AppendTrailer("x-sum", "4");
});

app.Run();
