// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "supervisor/dotnet/diagnostics/diagnostics_port.h"

namespace cohost::supervisor {

// An EventPipe session of a worker's runtime: a .nettrace stream of its events. Who starts one
// stops it, otherwise the runtime goes on until it finds the connection closed. One thread at a
// time, which may wait. Its end closes the connection.
class TraceSession {
 public:
  // How long the runtime may take for the first answer.
  static constexpr absl::Duration kStartLimit = absl::Seconds(10);

  static absl::StatusOr<TraceSession> Start(DiagnosticsPort port, const TraceOptions& options,
                                            const Interrupt& interrupt);

  // Next bytes of the stream, at most `most`; empty: the stream has ended. DEADLINE_EXCEEDED when
  // none came until then.
  absl::StatusOr<std::string> Read(size_t most, SteadyTime until, const Interrupt& interrupt);

  // Has the runtime end the session; what still comes, the rundown above all, goes to `sink`. OK
  // once the stream has ended.
  absl::Status Stop(absl::Duration limit, const Interrupt& interrupt,
                    const std::function<void(std::string)>& sink);

 private:
  TraceSession(DiagnosticsPort port, DiagnosticsConnection connection, uint64_t session)
      : port_(std::move(port)), connection_(std::move(connection)), session_(session) {}

  DiagnosticsPort port_;
  DiagnosticsConnection connection_;
  uint64_t session_ = 0;
};

}  // namespace cohost::supervisor
