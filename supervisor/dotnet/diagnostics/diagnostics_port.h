// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/system/unique_fd.h"
#include "supervisor/dotnet/diagnostics/interrupt.h"
#include "supervisor/dotnet/diagnostics/ipc_message.h"

// Where the .NET runtime of one worker takes commands: a socket that it makes in the worker's
// folder, mode 0600 and its own user's (pool/generation/worker_folder.h). For threads that may
// wait.
namespace cohost::supervisor {

struct DiagnosticsPort {
  std::string worker;  // as people say it, "steady-1/0": in errors
  std::string folder;
  pid_t pid = 0;
};

struct DiagnosticsConnection {
  UniqueFd socket;  // does not block
  // Of the worker, as the kernel says it.
  uid_t uid = 0;
  gid_t gid = 0;
};

// A connection for one command. Who runs as root without CAP_DAC_OVERRIDE gives the socket its own
// group first. FAILED_PRECONDITION when there is no socket; ABORTED when nobody listens on it, or
// another process than the worker does.
absl::StatusOr<DiagnosticsConnection> Connect(const DiagnosticsPort& port);

// Sends a command and takes the answer's payload.
absl::StatusOr<std::string> Call(const DiagnosticsPort& port, const DiagnosticsConnection& over,
                                 const IpcMessage& command, absl::Duration limit,
                                 const Interrupt& interrupt);

// What went wrong with a connection, for people: ABORTED with the worker's name for an end of the
// worker or a limit of time; CANCELLED and all others keep their code.
absl::Status Explain(const DiagnosticsPort& port, const absl::Status& status);

}  // namespace cohost::supervisor
