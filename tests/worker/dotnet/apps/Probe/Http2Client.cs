// SPDX-License-Identifier: Apache-2.0
using System.Net;
using System.Net.Http.Headers;
using System.Text;

namespace Probe;

// HTTP/2 cleartext with prior knowledge, and gRPC calls made of it.
internal sealed class Http2Client(IReadOnlyList<IPEndPoint> endpoints) : IDisposable
{
    private readonly HttpClient _client = new(new SocketsHttpHandler
    {
        AllowAutoRedirect = false,
        UseCookies = false,
        ActivityHeadersPropagator = null,
    });

    public async Task<string> AskAsync(Step step, CancellationToken cancellation)
    {
        using var request = new HttpRequestMessage(new HttpMethod(step.Method), $"http://{endpoints[step.Endpoint]}{step.Target}")
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        request.Headers.Host = Http1Client.Host;
        if (step.Kind is StepKind.Grpc)
        {
            request.Content = new ByteArrayContent(Frame(Convert.FromHexString((step.Body ?? "").Replace(" ", ""))));
            request.Content.Headers.ContentType = new MediaTypeHeaderValue("application/grpc");
            request.Headers.TE.Add(new TransferCodingWithQualityHeaderValue("trailers"));
        }
        else if (step.Body is not null)
        {
            request.Content = new StringContent(step.Body);
        }

        foreach (var (name, value) in step.Headers)
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        using var response = await _client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, cancellation);
        var answer = new StringBuilder($"HTTP/{response.Version} {(int)response.StatusCode}\n");
        Append(answer, response.Headers.Concat(response.Content.Headers));
        answer.Append('\n');
        var body = await response.Content.ReadAsByteArrayAsync(cancellation);
        answer.Append(step.Kind is StepKind.Grpc ? Convert.ToHexString(body) : Encoding.UTF8.GetString(body)).Append('\n');
        Append(answer, response.TrailingHeaders);
        return answer.ToString();
    }

    public void Dispose() => _client.Dispose();

    // Not compressed; the length in network order.
    private static byte[] Frame(byte[] message) =>
        [0, .. BitConverter.GetBytes(IPAddress.HostToNetworkOrder(message.Length)), .. message];

    // Sorted: the client keeps headers of the content apart from the others.
    private static void Append(
        StringBuilder text, IEnumerable<KeyValuePair<string, IEnumerable<string>>> headers)
    {
        foreach (var (name, values) in headers.OrderBy(header => header.Key, StringComparer.OrdinalIgnoreCase))
        {
            text.Append($"{name}: {string.Join(", ", values)}\n");
        }
    }
}
