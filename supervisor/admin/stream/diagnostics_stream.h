// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "proto/admin.pb.h"
#include "supervisor/admin/stream/message_stream.h"
#include "supervisor/admin/stream/session_threads.h"
#include "supervisor/dotnet/diagnostics/diagnostics_port.h"
#include "supervisor/dotnet/diagnostics/trace_session.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// One DumpWorker or TraceWorker call: talks to the worker's runtime on a thread of its own, at the
// client's pace. A client that goes away ends it; one that takes nothing for kSlowReader is cut.
// Nothing of what the worker sends is looked at. `threads` outlives the call.
class DiagnosticsStream : public std::enable_shared_from_this<DiagnosticsStream> {
 public:
  using Part = admin::v1::DiagnosticsPart;

  static constexpr size_t kPartSize = 256 << 10;
  static constexpr size_t kQueue = 8;
  static constexpr absl::Duration kSlowReader = absl::Minutes(1);
  // A big process is written for a while.
  static constexpr absl::Duration kDumpLimit = absl::Minutes(5);
  // Of a trace that is to go on until its client goes.
  static constexpr absl::Duration kLongestTrace = absl::Hours(24);
  // For the rundown of a worker with many methods.
  static constexpr absl::Duration kStopLimit = absl::Minutes(1);
  // The same when nobody wants it any more.
  static constexpr absl::Duration kAbandonLimit = absl::Seconds(2);

  static grpc::ServerWriteReactor<Part>* OpenDump(SessionThreads& threads, const WorkerView& worker,
                                                  DumpKind kind, const std::string& folder);
  static grpc::ServerWriteReactor<Part>* OpenTrace(SessionThreads& threads,
                                                   const WorkerView& worker, TraceOptions options,
                                                   absl::Duration duration);

 private:
  using Work = std::function<absl::Status(DiagnosticsStream&)>;

  DiagnosticsStream(const WorkerView& worker, UniqueFd room, Interrupt interrupt);

  static grpc::ServerWriteReactor<Part>* Open(SessionThreads& threads, const WorkerView& worker,
                                              Work work);
  absl::Status SendDump(DumpKind kind, const std::string& folder);
  absl::Status SendTrace(const TraceOptions& options, absl::Duration duration);
  // The events until then.
  absl::Status SendEvents(TraceSession& session, SteadyTime until);
  // Until it is taken.
  absl::Status Push(Part part);
  absl::Status PushData(std::string data);

  // Set in the constructor, never changed.
  const DiagnosticsPort port_;
  const std::shared_ptr<Interrupt> interrupt_;  // raised when the call is over
  const std::shared_ptr<MessageStream<Part>> stream_;
  // Written whenever the queue has become empty.
  const UniqueFd room_;
};

}  // namespace cohost::supervisor
