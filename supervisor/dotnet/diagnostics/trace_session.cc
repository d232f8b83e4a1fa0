// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/diagnostics/trace_session.h"

#include <utility>

#include "base/status.h"
#include "supervisor/dotnet/diagnostics/timed_io.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kPart = 64 << 10;

}  // namespace

absl::StatusOr<TraceSession> TraceSession::Start(DiagnosticsPort port, const TraceOptions& options,
                                                 const Interrupt& interrupt) {
  COHOST_ASSIGN_OR_RETURN(DiagnosticsConnection connection, Connect(port));
  COHOST_ASSIGN_OR_RETURN(const std::string payload,
                          Call(port, connection, TraceCommand(options), kStartLimit, interrupt));
  const absl::StatusOr<uint64_t> session = SessionOf(payload);
  if (!session.ok()) return Explain(port, session.status());
  return TraceSession(std::move(port), std::move(connection), *session);
}

absl::StatusOr<std::string> TraceSession::Read(size_t most, SteadyTime until,
                                               const Interrupt& interrupt) {
  return ReceiveSome(connection_.socket.get(), most, until, interrupt);
}

absl::Status TraceSession::Stop(absl::Duration limit, const Interrupt& interrupt,
                                const std::function<void(std::string)>& sink) {
  const SteadyTime until = SystemClock().Steady() + limit;
  COHOST_ASSIGN_OR_RETURN(const DiagnosticsConnection other, Connect(port_));
  COHOST_ASSIGN_OR_RETURN(const std::string command, Encode(StopCommand(session_)));
  absl::Status status = SendAll(other.socket.get(), command, until, interrupt);
  if (!status.ok()) return Explain(port_, status);
  // The runtime answers only when all that it had to say was taken.
  while (true) {
    absl::StatusOr<std::string> part = Read(kPart, until, interrupt);
    if (!part.ok()) return Explain(port_, part.status());
    if (part->empty()) break;
    sink(*std::move(part));
  }
  const absl::StatusOr<IpcMessage> answer = ReceiveMessage(other.socket.get(), until, interrupt);
  if (!answer.ok()) return Explain(port_, answer.status());
  const absl::StatusOr<std::string> stopped = PayloadOf(*answer);
  return stopped.ok() ? absl::OkStatus() : Explain(port_, stopped.status());
}

}  // namespace cohost::supervisor
