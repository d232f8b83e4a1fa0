// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/keys/key_table.h"

// The keys of groups and of group_defaults.
namespace cohost::supervisor {
namespace {

using enum KeyType;
using enum KeyState;
using enum Shape;

constexpr std::string_view kClasses = "latency|steady|bursty|batch|idle";

constexpr Key kMatchKeys[] = {
    {.name = "class",
     .type = kChoice,
     .shape = kList,
     .state = kRequired,
     .choices = kClasses,
     .doc = "Load classes. A class stands in at most one group, and `latency` never with `batch`.",
     .example = "[steady, idle]"},
};
constexpr Block kGroupMatchBlock = {"groups[].match", "Which services without a group come here.",
                                    kMatchKeys};

constexpr Key kIdentityKeys[] = {
    {.name = "user",
     .type = kUser,
     .doc =
         "User of the workers. Default: `cohost` when started as root and that user exists, else "
         "the starting user. `root` must be written to be meant.",
     .example = "nobody"},
    {.name = "supplementary_groups",
     .type = kUserGroup,
     .shape = kList,
     .doc = "Further groups of users that the workers belong to.",
     .example = "[daemon]"},
    {.name = "read_write_paths",
     .type = kFolder,
     .shape = kList,
     .state = kReserved,
     .doc = "Folders that the workers may write."},
};
constexpr Block kGroupIdentityBlock = {"groups[].identity", "What the workers may be.",
                                       kIdentityKeys};

constexpr Key kGroupLimitsKeys[] = {
    {.name = "memory",
     .type = kBytes,
     .default_text = "0",
     .least = "0",
     .most = "16Ti",
     .doc = "Of each worker's cgroup, a backstop; 0: none.",
     .example = "512Mi"},
    {.name = "cpu",
     .type = kNumber,
     .default_text = "0",
     .least = "0",
     .most = "1024",
     .doc = "Cores of each worker; 0: no limit.",
     .example = "1.5"},
    {.name = "tasks",
     .type = kInteger,
     .default_text = "0",
     .least = "0",
     .most = "1000000",
     .doc = "Threads and processes of each worker; 0: no limit.",
     .example = "256"},
    {.name = "open_files",
     .type = kInteger,
     .default_text = "65536",
     .least = "256",
     .most = "1048576",
     .doc = "Descriptors of each worker, at most the hard limit of cohostd (ulimit -Hn).",
     .example = "4096"},
};
constexpr Block kGroupLimitsBlock = {"groups[].limits", "What a worker may use.", kGroupLimitsKeys};

constexpr Key kRecycleKeys[] = {
    {.name = "drain_timeout",
     .type = kDuration,
     .default_text = "30s",
     .least = "0",
     .most = "1h",
     .doc = "How long requests in flight may take when their worker is replaced.",
     .example = "45s"},
    {.name = "requests",
     .type = kInteger,
     .state = kReserved,
     .doc = "Replace a worker after so many requests."},
    {.name = "private_memory",
     .type = kBytes,
     .state = kReserved,
     .doc = "Replace a worker above this private memory."},
    {.name = "memory_growth",
     .type = kBytes,
     .state = kReserved,
     .doc = "Replace a worker that grew by so much."},
    {.name = "age",
     .type = kDuration,
     .state = kReserved,
     .doc = "Replace a worker after this time."},
    {.name = "schedule",
     .type = kText,
     .shape = kList,
     .state = kReserved,
     .doc = "Replace workers at these times of the day."},
};
constexpr Block kGroupRecycleBlock = {"groups[].recycle", "How a worker is replaced.",
                                      kRecycleKeys};

constexpr Key kGroupHealthKeys[] = {
    {.name = "interval",
     .type = kDuration,
     .default_text = "5s",
     .least = "100ms",
     .most = "1h",
     .doc = "How often a worker is asked for its health.",
     .example = "7s"},
    {.name = "start_timeout",
     .type = kDuration,
     .default_text = "60s",
     .least = "100ms",
     .most = "1h",
     .doc = "A worker or service that is not ready by then has failed.",
     .example = "20s"},
    {.name = "stall_timeout",
     .type = kDuration,
     .state = kReserved,
     .doc = "Replace a worker whose oldest request is older."},
};
constexpr Block kGroupHealthBlock = {"groups[].health", "When a worker is healthy.",
                                     kGroupHealthKeys};

constexpr Key kLogKeys[] = {
    {.name = "size",
     .type = kBytes,
     .default_text = "10Mi",
     .least = "64Ki",
     .most = "1Ti",
     .doc =
         "A worker's log file is rotated when it is found at this size or above: looked at every "
         "second, so a file may be larger by what is written in one.",
     .example = "1Mi"},
    {.name = "files",
     .type = kInteger,
     .default_text = "4",
     .least = "1",
     .most = "1000",
     .doc = "Log files kept for each worker, the current one included.",
     .example = "2"},
};
constexpr Block kGroupLogBlock = {"groups[].log", "Standard output and error of the workers.",
                                  kLogKeys};

constexpr Key kSignaturesKeys[] = {
    {.name = "required_from",
     .type = kName,
     .shape = kList,
     .doc = "Names of `host.signing_keys`: a service of the group starts only when each of its "
            "files has a valid signature by at least one of these keys, beside it (`FILE.sig`) or "
            "kept from before. Empty: nothing has to be signed.",
     .example = "[release]"},
};
constexpr Block kGroupSignaturesBlock = {
    "groups[].signatures", "Who has to have signed the modules and data images of the services.",
    kSignaturesKeys};

constexpr Key kDotnetKeys[] = {
    {.name = "profile",
     .type = kChoice,
     .default_text = "density",
     .choices = "density|throughput",
     .doc = "Sets the defaults of the keys below. `density`: many applications in little memory, "
            "and threads that sleep as soon as they have nothing to do. "
            "`throughput`: as .NET itself runs one web application (`gc: server`, `concurrent` and "
            "`tiered_pgo`, `gen0_size` 0).",
     .example = "throughput"},
    {.name = "gc",
     .type = kChoice,
     .default_text = "workstation",
     .choices = "workstation|server",
     .doc = "Garbage collector (`DOTNET_gcServer`).",
     .example = "server"},
    {.name = "concurrent",
     .type = kBoolean,
     .default_text = "false",
     .doc = "Collect in the background, with a thread more (`DOTNET_gcConcurrent`).",
     .example = "true"},
    {.name = "tiered_pgo",
     .type = kBoolean,
     .default_text = "false",
     .doc = "Optimise by profiles taken while it runs (`DOTNET_TieredPGO`).",
     .example = "true"},
    {.name = "write_xor_execute",
     .type = kBoolean,
     .default_text = "false",
     .doc = "No memory is writable and executable at once (`DOTNET_EnableWriteXorExecute`); "
            "slower to start.",
     .example = "true"},
    {.name = "gen0_size",
     .type = kBytes,
     .default_text = "4Mi",
     .least = "0",
     .most = "1Gi",
     .doc = "Allocated between two collections of the youngest generation (`DOTNET_GCgen0size`); "
            "0: the runtime's own choice, which goes by the processor's cache.",
     .example = "16Mi"},
    {.name = "conserve_memory",
     .type = kInteger,
     .default_text = "0",
     .least = "0",
     .most = "9",
     .doc = "How hard it tries to keep the heap small (`DOTNET_GCConserveMemory`).",
     .example = "5"},
    {.name = "heap_limit",
     .type = kBytes,
     .default_text = "0",
     .least = "0",
     .most = "16Ti",
     .doc = "Of the managed heap of a worker (`DOTNET_GCHeapHardLimit`), for all its applications "
            "together; 0: three quarters of `limits.memory`, or none without it.",
     .example = "384Mi"},
    {.name = "invariant_globalization",
     .type = kBoolean,
     .default_text = "false",
     .doc = "Only the invariant culture, without ICU "
            "(`DOTNET_SYSTEM_GLOBALIZATION_INVARIANT`).",
     .example = "true"},
    {.name = "share_libraries",
     .type = kChoice,
     .default_text = "none",
     .choices = "none|reviewed|listed",
     .doc = "Which libraries exist once in a worker (code, types and statics) for all its "
            "applications that have the same file, and the same files of all that it references. "
            "`none`: each application has its own. `reviewed`: those that Cohost's makers have "
            "read (Entity Framework Core). `listed`: these, and `shared_libraries`. `cohostctl "
            "check` says of each library of an application whether it can be shared, and why not. "
            "Services with `isolation: solo` share nothing.",
     .example = "reviewed"},
    {.name = "shared_libraries",
     .type = kText,
     .shape = kList,
     .doc =
         "Only with `share_libraries: listed`. Names of assemblies, without `.dll`; a `*` at the "
         "end stands for any rest. One whose public static members anybody can set is refused: "
         "its applications would set each other's. `NAME/VERSION`, with the version of the "
         "package or its beginning (`Serilog/4.3`), shares these versions all the same: you "
         "have read them and know that they keep nothing of one application.",
     .example = "[Acme.*, Serilog/4.3]"},
    {.name = "diagnostics",
     .type = kBoolean,
     .default_text = "true",
     .doc =
         "`cohostctl dump`, `trace` and `counters` work: the runtime has a socket in a folder of "
         "the worker's own below `runtime_dir`, which only the worker's user and Cohost can use. "
         "`false`: it has none, and no debugger can attach either (`DOTNET_EnableDiagnostics`).",
     .example = "false"},
};
constexpr Block kGroupDotnetBlock = {
    "groups[].dotnet", "The runtime that the workers of a group of `dotnet` services share.",
    kDotnetKeys};

constexpr Key kPolicyKeys[] = {
    {.name = "workers",
     .type = kInteger,
     .default_text = "1",
     .least = "1",
     .most = "256",
     .doc = "Workers (slots) of the group; each serves every service of it.",
     .example = "2"},
    {.name = "identity",
     .type = kMap,
     .block = &kGroupIdentityBlock,
     .doc = "What the workers may be."},
    {.name = "limits", .type = kMap, .block = &kGroupLimitsBlock, .doc = "What a worker may use."},
    {.name = "recycle",
     .type = kMap,
     .block = &kGroupRecycleBlock,
     .doc = "How a worker is replaced."},
    {.name = "health",
     .type = kMap,
     .block = &kGroupHealthBlock,
     .doc = "When a worker is healthy."},
    {.name = "stop_timeout",
     .type = kDuration,
     .default_text = "10s",
     .least = "100ms",
     .most = "1h",
     .doc = "A worker that was told to stop is killed after this time.",
     .example = "3s"},
    {.name = "log", .type = kMap, .block = &kGroupLogBlock, .doc = "Standard output and error."},
    {.name = "signatures",
     .type = kMap,
     .block = &kGroupSignaturesBlock,
     .doc = "Who has to have signed the modules."},
    {.name = "dotnet",
     .type = kMap,
     .block = &kGroupDotnetBlock,
     .doc = "The .NET runtime of its workers, if they have one."},
    {.name = "rapid_fail",
     .type = kSettings,
     .state = kReserved,
     .doc = "When a group that keeps crashing is left stopped."},
};

constexpr Key kGroupKeys[] = {
    {.name = "name",
     .type = kName,
     .state = kRequired,
     .doc = "Unique; letters, digits, `_`, `.` and `-`, at most 63.",
     .example = "steady"},
    {.name = "match",
     .type = kMap,
     .block = &kGroupMatchBlock,
     .doc = "Which services without a group come here."},
};

}  // namespace

const Block kGroupDefaultsBlock = {
    "group_defaults",
    "The policy of groups that placement derives, and what an entry of `groups` does not say.",
    kPolicyKeys};
const Block kGroupBlock = {"groups[]", "A declared group: services that share workers.", kGroupKeys,
                           &kGroupDefaultsBlock};

}  // namespace cohost::supervisor
