// SPDX-License-Identifier: Apache-2.0
//
// The boundary between the worker and the managed shim (managed/Boundary.cs): two tables of
// function pointers, exchanged once. All texts are UTF-8; a pointer that a call passes is valid
// during that call only. No exception crosses in either direction. A service is named by its row of
// the segment, which no other service gets in this worker.
#pragma once

#include <cstdint>

namespace cohost::worker::dotnet {

// Raised with every change of a table or a struct below. Shim and worker are built together, so one
// that meets another version refuses to start.
inline constexpr uint32_t kBoundaryVersion = 2;

// Of a thread that works for no service.
inline constexpr int32_t kNoService = -1;

// Microsoft.Extensions.Logging.LogLevel.
enum class ManagedLogLevel : int32_t {
  kTrace,
  kDebug,
  kInformation,
  kWarning,
  kError,
  kCritical,
};

// What the shim tells about a service besides its answers.
enum class Notice : int32_t {
  // It changed or needs something that its neighbours share; it runs. The text says what.
  kWarning = 0,
  // An exception that nobody caught, on any thread: a strike. The text is the managed stack.
  kUnhandledException = 1,
  // It called Environment.Exit: the process ends when the worker says so.
  kExit = 2,
  // It stopped by itself (IHostApplicationLifetime.StopApplication, or Main returned).
  kEnded = 3,
  // A request did not end although it was cancelled at its limit.
  kOverdueRequest = 4,
};

struct Pair {
  const char* key;
  const char* value;
};

struct Endpoint {
  // As in the deployment: "http://127.0.0.1:8101".
  const char* address;
  // Which of the application's endpoints its connections go to: the text of `endpoint:`; empty: the
  // default.
  const char* endpoint;
};

// Everything that a service is loaded with. The shim copies what it keeps.
struct LoadRequest {
  uint32_t size;  // of this struct
  int32_t row;
  const char* name;
  // Absolute path of the main assembly, in the service's own tree.
  const char* application;
  // Where the service may write; empty: nowhere.
  const char* data_folder;
  // Data Protection's application discriminator; empty: the shim's default.
  const char* data_protection_name;
  const Pair* settings;  // flattened: "db:password", "hosts:0"
  const Pair* environment;
  const char* const* arguments;
  const Endpoint* endpoints;
  uint32_t settings_count;
  uint32_t environment_count;
  uint32_t arguments_count;
  uint32_t endpoints_count;
  // Absolute paths of assemblies, NAME.dll, that are loaded once for all services that name the
  // same path. What they reference is among them or the framework's. Not for one that is alone.
  const char* const* shared_libraries;
  uint32_t shared_libraries_count;
  uint32_t concurrency;
  uint32_t queue;
  int64_t request_timeout_ns;  // 0: none
  // The service's ServiceRow (base/format/segment.h) in this process. The shim adds to the stripes
  // from 1 on, atomically; stripe 0 is the I/O thread's.
  void* segment_row;
};

// At one moment. Times are SteadyTime (CLOCK_MONOTONIC) in nanoseconds; 0: none.
struct Gauges {
  uint32_t in_flight;
  uint32_t queued;
  uint64_t oldest_request_ns;
  uint64_t oldest_queued_ns;
  // By code of the service, estimated; 0: not measured.
  uint64_t allocated_bytes;
};

// How a connection came.
enum class Channel : int32_t {
  kClient = 0,
  // A warm-up request or a probe over a socketpair: not counted as a connection.
  kInternal = 1,
};

// What the worker offers. Every function may be called from any thread and does not block.
struct HostTable {
  uint32_t version;
  uint32_t size;  // of this struct
  // The calling thread works for `row` from now on, or for none. Safe without a transition to
  // preemptive mode: it neither blocks nor calls back.
  void (*set_service)(int32_t row, uint64_t since_ns);
  // The folder that the service's threads see as their current one, from its start on.
  void (*set_folder)(int32_t row, const char* folder);
  // One event of a service's, or of the shim's own (kNoService). Newlines are kept.
  void (*log)(int32_t row, ManagedLogLevel level, const char* category, const char* text);
  // The end of the start that load() began: `ok` 1, or 0 with the reason.
  void (*started)(int32_t row, int32_t ok, const char* reason);
  // The start goes on: it is not stuck.
  void (*progress)(int32_t row);
  // A connection that serve() passed has ended.
  void (*connection_ended)(int32_t row, Channel channel);
  // The end of what drain() began: no connection is left. How many requests were cut.
  void (*drained)(int32_t row, uint32_t cancelled);
  // The end of what stop() began.
  void (*stopped)(int32_t row);
  void (*notice)(int32_t row, Notice notice, const char* text);
};

// What the shim offers. Filled by initialize. Every function may be called from any thread; only
// health, trim and gauges may take longer than it takes to queue something.
struct ManagedTable {
  uint32_t version;
  uint32_t size;  // of this struct
  // Begins to load and start; the end comes by started(), also when the request is not possible.
  void (*load)(const LoadRequest* request);
  // Takes `socket`, which is the shim's from now on, for the endpoint with that index of the load.
  void (*serve)(int32_t row, uint32_t endpoint, int32_t socket, Channel channel);
  // Answers say that the connection closes from now on; idle connections end after `grace_ms`, what
  // is left after `limit_ms` is aborted. Called again, it may only become shorter.
  void (*drain)(int32_t row, int64_t grace_ms, int64_t limit_ms);
  // Stops the application: its hosted services, then its host.
  void (*stop)(int32_t row, int64_t limit_ms);
  // 1: an item of the thread pool ran within `limit_ms` and the service runs; otherwise 0, and
  // `reason` (NUL-terminated, cut at `size`) says why.
  int32_t (*health)(int32_t row, int64_t limit_ms, char* reason, int32_t size);
  void (*gauges)(int32_t row, Gauges* gauges);
  // Collects everything that can be collected and gives memory back. Bytes of the managed heap
  // after it.
  int64_t (*trim)();
};

// The shim's only entry point by name: Cohost.Worker.Boundary.Initialize. Version and size of both
// tables are set by the caller. 0, or 1 after an event that says why not, when there is one that
// can be told.
using InitializeFunction = int32_t (*)(const HostTable* host, ManagedTable* managed);

}  // namespace cohost::worker::dotnet
