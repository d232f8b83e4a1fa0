// SPDX-License-Identifier: Apache-2.0
//
// The protocol of .NET's diagnostics socket, as far as we speak it (dotnet/diagnostics,
// documentation/design-docs/ipc-protocol.md). Little endian. A message is
//
//   14 bytes  "DOTNET_IPC_V1" and a NUL
//   uint16    size of the whole message, these 20 bytes included
//   uint8     command set, uint8 command
//   uint16    0
//   payload   texts are uint32 n and n UTF-16 units, the last one 0; or n = 0 alone
//
// A connection is for one command: the runtime answers with one message, of set kServerSet, and,
// after CollectTracing2, with a .nettrace stream until the session has been stopped by StopTracing
// on another connection. Commands and payloads:
//
//   Dump/GenerateCoreDump3    text path, uint32 DumpKind, uint32 flags
//                             answer: uint32 0, or on failure uint32 code and a text
//   EventPipe/CollectTracing2 uint32 buffer in MiB, uint32 1 (.nettrace), uint8 rundown,
//                             uint32 n, n providers: uint64 keywords, uint32 level, text name,
//                             text arguments
//                             answer: uint64 session
//   EventPipe/StopTracing     uint64 session; answer: the same
//
// What a worker answers is not believed: another magic, a size below 20, another set or a payload
// that is too short is INTERNAL; a failure that the runtime tells is ABORTED with its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "supervisor/dotnet/diagnostics/interrupt.h"

namespace cohost::supervisor {

inline constexpr size_t kIpcHeaderSize = 20;
inline constexpr uint8_t kDumpSet = 1;
inline constexpr uint8_t kEventPipeSet = 2;
inline constexpr uint8_t kServerSet = 0xff;
inline constexpr uint8_t kGenerateCoreDump3 = 3;
inline constexpr uint8_t kStopTracing = 1;
inline constexpr uint8_t kCollectTracing2 = 3;
inline constexpr uint8_t kServerOk = 0;
inline constexpr uint8_t kServerError = 0xff;

// What a core dump holds, with the protocol's numbers.
enum class DumpKind : uint32_t {
  kMini = 1,  // stacks and modules
  kHeap = 2,  // and what the managed heap holds
  kFull = 4,  // all memory
};

struct TraceProvider {
  std::string name;
  uint64_t keywords = 0;
  uint32_t level = 5;  // 1 critical to 5 verbose
  std::string arguments;
};

struct TraceOptions {
  std::vector<TraceProvider> providers;
  uint32_t buffer_mib = 64;  // in the worker's memory at most
  // At the end, names of all methods that run: without them stacks cannot be read.
  bool rundown = true;
};

struct IpcMessage {
  uint8_t set = 0;
  uint8_t command = 0;
  std::string payload;
};

// INVALID_ARGUMENT when it is longer than the protocol can say.
absl::StatusOr<std::string> Encode(const IpcMessage& message);

IpcMessage DumpCommand(std::string_view path, DumpKind kind);
IpcMessage TraceCommand(const TraceOptions& options);
IpcMessage StopCommand(uint64_t session);

// One message from `fd`.
absl::StatusOr<IpcMessage> ReceiveMessage(int fd, SteadyTime until, const Interrupt& interrupt);

// The answer to a command: its payload, or what the runtime says went wrong.
absl::StatusOr<std::string> PayloadOf(const IpcMessage& answer);
// The session's number in the payload of the answer to TraceCommand.
absl::StatusOr<uint64_t> SessionOf(std::string_view payload);

}  // namespace cohost::supervisor
