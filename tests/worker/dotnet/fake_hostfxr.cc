// SPDX-License-Identifier: Apache-2.0
//
// A libhostfxr.so that starts no .NET: it fails at the step that the environment variable
// FAKE_DOTNET names ("prepare", "handle", "start", "find", "initialize", "version"), or gives a
// managed table whose applications are plain C++ ones. An application's file name says how it
// behaves: "fails.dll" does not start, "silent.dll" never tells, "ends.dll" ends by itself; all
// others answer every connection with their row and the endpoint's index, once.
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "worker/dotnet/boundary.h"

namespace {

namespace dotnet = cohost::worker::dotnet;

const dotnet::HostTable* host = nullptr;
void (*error_writer)(const char*) = nullptr;

bool FailsAt(std::string_view step) {
  const char* const chosen = std::getenv("FAKE_DOTNET");
  return chosen != nullptr && chosen == step;
}

bool IsNamed(std::string_view path, std::string_view name) { return path.ends_with(name); }

void Load(const dotnet::LoadRequest* request) {
  const std::string_view application = request->application;
  const int32_t row = request->row;
  if (IsNamed(application, "/silent.dll")) return;
  if (IsNamed(application, "/fails.dll")) {
    return host->started(row, 0, "System.InvalidOperationException: no database\n   at Main()");
  }
  host->started(row, 1, "");
  if (IsNamed(application, "/ends.dll")) {
    host->notice(row, dotnet::Notice::kEnded, "Main returned");
  }
}

void Answer(int32_t row, uint32_t endpoint, int socket, dotnet::Channel channel) {
  std::array<char, 4096> head;
  // The descriptor is non-blocking: a request is there or comes at once.
  const timeval limit{5, 0};
  (void)::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ssize_t count;
  do {
    count = ::recv(socket, head.data(), head.size(), 0);
  } while (count < 0 && errno == EAGAIN);
  const std::string body =
      "row " + std::to_string(row) + " endpoint " + std::to_string(endpoint) + "\n";
  const std::string answer =
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n" + body;
  if (count > 0) (void)::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL);
  ::close(socket);
  host->connection_ended(row, channel);
}

void Serve(int32_t row, uint32_t endpoint, int32_t socket, dotnet::Channel channel) {
  std::thread(Answer, row, endpoint, socket, channel).detach();
}

void Drain(int32_t row, int64_t /*grace_ms*/, int64_t /*limit_ms*/) { host->drained(row, 0); }
void Stop(int32_t row, int64_t /*limit_ms*/) { host->stopped(row); }

int32_t Health(int32_t /*row*/, int64_t /*limit_ms*/, char* reason, int32_t size) {
  if (!FailsAt("health")) return 1;
  std::strncpy(reason, "no thread of the pool was free", static_cast<size_t>(size) - 1);
  return 0;
}

void ReadGauges(int32_t /*row*/, dotnet::Gauges* gauges) {
  *gauges = {.in_flight = 3,
             .queued = 2,
             .oldest_request_ns = 1,
             .oldest_queued_ns = 2,
             .allocated_bytes = 4096};
}

int64_t Trim() { return 0; }

int32_t Initialize(const dotnet::HostTable* table, dotnet::ManagedTable* managed) {
  host = table;
  if (FailsAt("initialize")) return 1;
  *managed = {.version = FailsAt("version") ? 999 : dotnet::kBoundaryVersion,
              .size = sizeof(dotnet::ManagedTable),
              .load = Load,
              .serve = Serve,
              .drain = Drain,
              .stop = Stop,
              .health = Health,
              .gauges = ReadGauges,
              .trim = Trim};
  return 0;
}

int32_t GetFunctionPointer(const char* /*type*/, const char* /*method*/, const char* /*delegate*/,
                           void* /*context*/, void* /*reserved*/, void** function) {
  if (FailsAt("find")) return static_cast<int32_t>(0x80131522);  // COR_E_TYPELOAD
  *function = reinterpret_cast<void*>(Initialize);
  return 0;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int32_t hostfxr_initialize_for_dotnet_command_line(
    int argc, const char** argv, const void* parameters, void** handle);
__attribute__((visibility("default"))) int32_t hostfxr_get_runtime_delegate(void* handle,
                                                                            int32_t type,
                                                                            void** delegate);
__attribute__((visibility("default"))) int32_t hostfxr_close(void* handle);
__attribute__((visibility("default"))) void* hostfxr_set_error_writer(void (*writer)(const char*));

int32_t hostfxr_initialize_for_dotnet_command_line(int /*argc*/, const char** /*argv*/,
                                                   const void* /*parameters*/, void** handle) {
  static int context = 0;
  if (FailsAt("prepare")) {
    error_writer("You must install or update .NET to run this application.");
    error_writer("Framework: 'Microsoft.AspNetCore.App', version '10.0.0' (x64)");
    return static_cast<int32_t>(0x80008096);  // FrameworkMissingFailure
  }
  *handle = FailsAt("handle") ? nullptr : &context;
  return 0;
}

int32_t hostfxr_get_runtime_delegate(void* /*handle*/, int32_t type, void** delegate) {
  if (FailsAt("start") || type != 6) return static_cast<int32_t>(0x80008089);  // CoreClrInitFailure
  *delegate = reinterpret_cast<void*>(GetFunctionPointer);
  return 0;
}

int32_t hostfxr_close(void* /*handle*/) { return 0; }

void* hostfxr_set_error_writer(void (*writer)(const char*)) {
  error_writer = writer;
  return nullptr;
}

}  // extern "C"
