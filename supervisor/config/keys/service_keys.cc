// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/keys/key_table.h"

// The keys of services.
namespace cohost::supervisor {
namespace {

using enum KeyType;
using enum KeyState;
using enum Shape;

constexpr std::string_view kClasses = "latency|steady|bursty|batch|idle";
constexpr std::string_view kNative = "native";
constexpr std::string_view kDotnet = "dotnet";

constexpr Key kListenKeys[] = {
    {.name = "address",
     .type = kAddress,
     .state = kRequired,
     .doc = "As the text form.",
     .example = "http+unix:/run/cohost-example/service.sock"},
    {.name = "mode",
     .type = kMode,
     .default_text = "\"0600\"",
     .doc = "Of a unix socket, quoted.",
     .example = "\"0660\""},
    {.name = "owner",
     .type = kUser,
     .doc = "User that owns a unix socket. Default: the user of the group.",
     .example = "nobody"},
    {.name = "backlog",
     .type = kInteger,
     .default_text = "1024",
     .least = "1",
     .most = "65535",
     .doc = "Accept queue asked for; the kernel caps it at `net.core.somaxconn`.",
     .example = "128"},
    {.name = "endpoint",
     .type = kText,
     .runtime = kDotnet,
     .doc = "Which of the application's own endpoints takes the connections, for applications that "
            "have several: its name in their configuration (`Kestrel:Endpoints:NAME`) or its "
            "address. Default: the first.",
     .example = "Grpc"},
};
}  // namespace

const Block kListenBlock = {"services[].listen[]", "The map form of an address.", kListenKeys};

namespace {

constexpr Key kLoadKeys[] = {
    {.name = "class",
     .type = kChoice,
     .default_text = "steady",
     .choices = kClasses,
     .doc = "`latency`: small, frequent, must answer fast. `steady`: even load all day. `bursty`: "
            "idle, then peaks. `batch`: long or CPU-heavy requests. `idle`: hardly called.",
     .example = "bursty"},
    {.name = "requests_per_second",
     .type = kNumber,
     .default_text = "1",
     .least = "0",
     .most = "10000000",
     .doc = "Expected inside the peak hours.",
     .example = "40"},
    {.name = "cpu",
     .type = kNumber,
     .default_text = "0.01",
     .least = "0",
     .most = "1024",
     .doc = "Cores used inside the peak hours (a tenth outside of them).",
     .example = "0.05"},
    {.name = "memory",
     .type = kBytes,
     .default_text = "4Mi",
     .least = "0",
     .most = "1Ti",
     .doc = "Private memory that it adds to a worker.",
     .example = "8Mi"},
    {.name = "peak",
     .type = kHours,
     .doc = "Peak hours, local time. Default: all day. Services whose peaks do not meet share a "
            "worker better.",
     .example = "\"09:00-18:00\""},
};
constexpr Block kServiceLoadBlock = {"services[].load", "How it is used.", kLoadKeys};

constexpr Key kServiceLimitsKeys[] = {
    {.name = "concurrency",
     .type = kInteger,
     .default_text = "64",
     .least = "1",
     .most = "65536",
     .doc = "Requests in the service at a time, in each worker.",
     .example = "32"},
    {.name = "queue",
     .type = kInteger,
     .default_text = "256",
     .least = "0",
     .most = "65536",
     .doc = "Requests that wait for one of them to end; further ones get 503.",
     .example = "512"},
    {.name = "request_timeout",
     .type = kDuration,
     .default_text = "30s",
     .least = "0",
     .most = "24h",
     .doc = "From the request's head until its answer is complete; at least 1 ms. For `dotnet` the "
            "default is 0, which is none: unmodified applications have long polls and streams.",
     .example = "20s"},
    {.name = "connections",
     .type = kInteger,
     .default_text = "1024",
     .least = "1",
     .most = "65536",
     .doc = "Open connections, in each worker; further ones wait in the accept queue.",
     .example = "100"},
    {.name = "header_size",
     .type = kBytes,
     .default_text = "16Ki",
     .least = "256",
     .most = "1Mi",
     .runtime = kNative,
     .doc = "A longer request head gets 431 (414 when its target alone is).",
     .example = "8Ki"},
    {.name = "body_size",
     .type = kBytes,
     .default_text = "8Mi",
     .least = "0",
     .most = "1Ti",
     .runtime = kNative,
     .doc = "A longer request body gets 413.",
     .example = "1Mi"},
    {.name = "header_timeout",
     .type = kDuration,
     .default_text = "10s",
     .least = "1ms",
     .most = "1h",
     .runtime = kNative,
     .doc = "For the whole request head; then 408.",
     .example = "5s"},
    {.name = "io_timeout",
     .type = kDuration,
     .default_text = "30s",
     .least = "1ms",
     .most = "1h",
     .runtime = kNative,
     .doc = "A body or an answer that makes no progress for this long ends its connection.",
     .example = "15s"},
    {.name = "idle_timeout",
     .type = kDuration,
     .default_text = "75s",
     .least = "1ms",
     .most = "24h",
     .runtime = kNative,
     .doc = "A keep-alive connection without a request is closed after this time.",
     .example = "60s"},
    {.name = "memory",
     .type = kBytes,
     .default_text = "0",
     .least = "0",
     .most = "1Ti",
     .runtime = kNative,
     .doc = "Of the SDK's allocator; 0: no limit.",
     .example = "32Mi"},
};
constexpr Block kServiceLimitsBlock = {"services[].limits", "What it may use.", kServiceLimitsKeys};

constexpr Key kServiceHealthKeys[] = {
    {.name = "path",
     .type = kTarget,
     .doc = "Target of a probe on the request path. Default: only the module's own health call.",
     .example = "/healthz"},
    {.name = "interval",
     .type = kDuration,
     .default_text = "5s",
     .least = "100ms",
     .most = "1h",
     .doc = "Time between two probes.",
     .example = "10s"},
    {.name = "timeout",
     .type = kDuration,
     .default_text = "5s",
     .least = "1ms",
     .most = "1h",
     .doc = "A probe that is not answered by then has failed.",
     .example = "2s"},
};
constexpr Block kServiceHealthBlock = {"services[].health", "When it is healthy.",
                                       kServiceHealthKeys};

constexpr Key kServiceKeys[] = {
    {.name = "name",
     .type = kName,
     .state = kRequired,
     .doc = "Unique; letters, digits, `_`, `.` and `-`, at most 63. Text as it is written, also "
            "`no` or `0755`.",
     .example = "catalog"},
    {.name = "description",
     .type = kText,
     .doc = "One line for people.",
     .example = "What the shop sells"},
    {.name = "runtime",
     .type = kChoice,
     .default_text = "native",
     .choices = "native|dotnet",
     .doc =
         "What hosts it: `native` a shared object with our C ABI, `dotnet` an unmodified ASP.NET "
         "Core application (as `dotnet publish` makes it, framework-dependent).",
     .example = "native"},
    {.name = "module",
     .type = kFile,
     .state = kRequired,
     .runtime = kNative,
     .doc = "Shared object with the C ABI of `worker/sdk`.",
     .example = "module.so"},
    {.name = "data_images",
     .type = kFile,
     .shape = kTable,
     .runtime = kNative,
     .doc = "Read-only data images by the name under which the module asks for them. Every worker "
            "maps the same file.",
     .example = "{words: words.image}"},
    {.name = "listen",
     .type = kAddress,
     .shape = kList,
     .state = kRequired,
     .doc = "Addresses, each `http://HOST:PORT` (numeric IPv4, IPv6 in brackets, or `localhost`, "
            "which is 127.0.0.1; port 0 is a free port), `http+unix:/path`, or a map (below). TLS "
            "ends in front of Cohost, see `nginx/`.",
     .example = "[\"http://127.0.0.1:8199\"]"},
    {.name = "group",
     .type = kName,
     .doc = "Name of an entry of `groups`. Default: `grouping` decides.",
     .example = "steady"},
    {.name = "load", .type = kMap, .block = &kServiceLoadBlock, .doc = "How it is used."},
    {.name = "limits", .type = kMap, .block = &kServiceLimitsBlock, .doc = "What it may use."},
    {.name = "health", .type = kMap, .block = &kServiceHealthBlock, .doc = "When it is healthy."},
    {.name = "warmup",
     .type = kTarget,
     .shape = kList,
     .doc = "Targets that are requested, in this order, before it counts as ready.",
     .example = "[/, /items/1]"},
    {.name = "settings",
     .type = kSettings,
     .doc = "A tree of scalars for the service, flattened with `:` (`db:password`, `hosts:0`), "
            "values as written. `${env:NAME}`, `${file:/path}` and `${credential:NAME}` are "
            "resolved when a worker gets them and never shown; `$${` is a plain `${`.",
     .example = "{currency: EUR}"},
    {.name = "instances",
     .type = kChoice,
     .default_text = "all",
     .choices = "one|all",
     .doc = "From how many workers of its group it serves at a time. For `dotnet` the default is "
            "`one`, so that hosted services, timers and queue consumers run once.",
     .example = "one"},
    {.name = "overlap",
     .type = kBoolean,
     .default_text = "true",
     .doc =
         "`false`: never in two processes at once, not even while a worker is replaced. It shares "
         "workers only with others of its kind.",
     .example = "false"},
    {.name = "access_log",
     .type = kBoolean,
     .default_text = "false",
     .runtime = kNative,
     .doc = "One line a request in the worker's log.",
     .example = "true"},
    {.name = "app",
     .type = kFile,
     .state = kRequired,
     .runtime = kDotnet,
     .doc = "Main assembly of the application. All of its folder belongs to it: it is copied into "
            "the store, and the application runs from there, read-only.",
     .example = "Shop.dll"},
    {.name = "environment",
     .type = kSettings,
     .runtime = kDotnet,
     .doc = "Environment variables that the application sees beside the worker's own. References "
            "as in `settings`, which win over them.",
     .example = "{ASPNETCORE_ENVIRONMENT: Staging}"},
    {.name = "arguments",
     .type = kText,
     .shape = kList,
     .runtime = kDotnet,
     .doc = "What its `Main` gets.",
     .example = "[--verbose]"},
    {.name = "persist",
     .type = kGlob,
     .shape = kList,
     .runtime = kDotnet,
     .doc = "What of its folder it writes, relative to it: `app.db` a file, `uploads/**` a folder, "
            "`data/*.db` the files of a folder that match. They live in `state_dir/data/SERVICE` "
            "and survive new versions; what the folder has of them is put there once.",
     .example = "[app.db, \"uploads/**\"]"},
    {.name = "data_protection_name",
     .type = kText,
     .runtime = kDotnet,
     .doc =
         "Application name of ASP.NET Core's Data Protection: logins stay valid as long as it "
         "does. Default: made of the service's name. To keep logins from before Cohost, write the "
         "application's former content root.",
     .example = "/srv/shop/"},
    {.name = "isolation",
     .type = kChoice,
     .choices = "shared|solo",
     .runtime = kDotnet,
     .doc = "`shared`: beside others in one worker, whatever `cohostctl check` says against it. "
            "`solo`: alone in a worker, with libraries of its own only, as with `dotnet App.dll`. "
            "Default: what the check says; that a service becomes `solo` by it is an event.",
     .example = "solo"},
    {.name = "share_libraries",
     .type = kBoolean,
     .default_text = "true",
     .runtime = kDotnet,
     .doc = "Share libraries with the other applications of its worker as `dotnet.share_libraries` "
            "of its group says; `false`: it has copies of its own.",
     .example = "false"},
};
}  // namespace

const Block kServiceBlock = {"services[]", "A service.", kServiceKeys};

}  // namespace cohost::supervisor
