// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/stream/diagnostics_stream.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"
#include "supervisor/admin/messages.h"
#include "supervisor/dotnet/diagnostics/core_dump.h"
#include "supervisor/dotnet/diagnostics/timed_io.h"

namespace cohost::supervisor {
namespace {

DiagnosticsStream::Part FirstPart(const WorkerView& worker) {
  DiagnosticsStream::Part part;
  admin::v1::DiagnosedWorker& message = *part.mutable_worker();
  message.set_group(worker.group);
  message.set_slot(worker.slot);
  message.set_generation(worker.generation);
  message.set_pid(static_cast<uint32_t>(worker.pid));
  for (const std::string& service : worker.services) message.add_services(service);
  return part;
}

grpc::ServerWriteReactor<DiagnosticsStream::Part>* Refused(const absl::Status& status) {
  auto stream = std::make_shared<MessageStream<DiagnosticsStream::Part>>(1);
  auto* call = stream->Open();
  stream->Close(GrpcStatus(status));
  return call;
}

}  // namespace

DiagnosticsStream::DiagnosticsStream(const WorkerView& worker, UniqueFd room, Interrupt interrupt)
    : port_{absl::StrCat(worker.group, "/", worker.slot), worker.diagnostics_folder, worker.pid},
      interrupt_(std::make_shared<Interrupt>(std::move(interrupt))),
      stream_(std::make_shared<MessageStream<Part>>(kQueue)),
      room_(std::move(room)) {}

grpc::ServerWriteReactor<DiagnosticsStream::Part>* DiagnosticsStream::OpenDump(
    SessionThreads& threads, const WorkerView& worker, DumpKind kind, const std::string& folder) {
  return Open(threads, worker,
              [kind, folder](DiagnosticsStream& self) { return self.SendDump(kind, folder); });
}

grpc::ServerWriteReactor<DiagnosticsStream::Part>* DiagnosticsStream::OpenTrace(
    SessionThreads& threads, const WorkerView& worker, TraceOptions options,
    absl::Duration duration) {
  return Open(threads, worker, [options = std::move(options), duration](DiagnosticsStream& self) {
    return self.SendTrace(options, duration);
  });
}

grpc::ServerWriteReactor<DiagnosticsStream::Part>* DiagnosticsStream::Open(SessionThreads& threads,
                                                                           const WorkerView& worker,
                                                                           Work work) {
  UniqueFd room(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!room.valid()) return Refused(ErrnoStatus(errno, "eventfd", ""));
  absl::StatusOr<Interrupt> interrupt = Interrupt::Create();
  if (!interrupt.ok()) return Refused(interrupt.status());
  const std::shared_ptr<DiagnosticsStream> self(
      new DiagnosticsStream(worker, std::move(room), *std::move(interrupt)));
  self->stream_->OnRoom([weak = self->weak_from_this()] {
    // Ignoring a failure: it is written already when the counter is full.
    if (const auto alive = weak.lock()) (void)::eventfd_write(alive->room_.get(), 1);
  });
  self->stream_->OnClosed([interrupt = self->interrupt_] { interrupt->Raise(); });
  auto* call = self->stream_->Open();
  (void)self->stream_->Push(FirstPart(worker));
  const absl::Status started = threads.Start(self->interrupt_, [self, work = std::move(work)] {
    self->stream_->Close(GrpcStatus(work(*self)));
  });
  if (!started.ok()) self->stream_->Cut(GrpcStatus(started));
  return call;
}

absl::Status DiagnosticsStream::SendDump(DumpKind kind, const std::string& folder) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd dump,
                          TakeCoreDump(port_, kind, folder, kDumpLimit, *interrupt_));
  struct stat info {};
  if (::fstat(dump.get(), &info) != 0) return ErrnoStatus(errno, "fstat", "the dump");
  Part size;
  size.set_size_bytes(static_cast<uint64_t>(info.st_size));
  COHOST_RETURN_IF_ERROR(Push(std::move(size)));
  for (uint64_t offset = 0;;) {
    std::string data(kPartSize, '\0');
    COHOST_ASSIGN_OR_RETURN(const size_t read,
                            ReadAt(dump.get(), offset, data.data(), data.size()));
    if (read == 0) return absl::OkStatus();
    offset += read;
    data.resize(read);
    COHOST_RETURN_IF_ERROR(PushData(std::move(data)));
  }
}

absl::Status DiagnosticsStream::SendTrace(const TraceOptions& options, absl::Duration duration) {
  COHOST_ASSIGN_OR_RETURN(TraceSession session, TraceSession::Start(port_, options, *interrupt_));
  const SteadyTime until = SystemClock().Steady() + std::min(duration, kLongestTrace);
  absl::Status status = SendEvents(session, until);
  if (status.ok()) {
    absl::Status pushed;
    status = session.Stop(kStopLimit, *interrupt_, [&](std::string data) {
      if (pushed.ok()) pushed = PushData(std::move(data));
    });
    status.Update(pushed);
  }
  if (status.ok()) return status;
  // Nobody takes it any more: the runtime should not go on either. Ignoring how that ends: at the
  // latest it finds the connection closed.
  absl::StatusOr<Interrupt> none = Interrupt::Create();
  if (none.ok()) (void)session.Stop(kAbandonLimit, *none, [](const std::string&) {});
  return status;
}

absl::Status DiagnosticsStream::SendEvents(TraceSession& session, SteadyTime until) {
  absl::Status status;
  while (status.ok()) {
    absl::StatusOr<std::string> data = session.Read(kPartSize, until, *interrupt_);
    if (absl::IsDeadlineExceeded(data.status())) return absl::OkStatus();
    if (data.ok() && data->empty()) {
      return Explain(port_, absl::OutOfRangeError("its stream of events ended"));
    }
    status = data.ok() ? PushData(*std::move(data)) : data.status();
  }
  return status;
}

absl::Status DiagnosticsStream::PushData(std::string data) {
  Part part;
  *part.mutable_data() = std::move(data);
  return Push(std::move(part));
}

absl::Status DiagnosticsStream::Push(Part part) {
  const SteadyTime until = SystemClock().Steady() + kSlowReader;
  while (true) {
    eventfd_t ignored = 0;
    // Before the look at the queue: room that comes after it is seen.
    (void)::eventfd_read(room_.get(), &ignored);
    switch (stream_->Push(part)) {
      case MessageStream<Part>::Pushed::kTaken:
        return absl::OkStatus();
      case MessageStream<Part>::Pushed::kClosed:
        return absl::CancelledError("the caller is gone");
      case MessageStream<Part>::Pushed::kFull:
        break;
    }
    const absl::Status waited = WaitFor(room_.get(), POLLIN, until, *interrupt_);
    if (absl::IsDeadlineExceeded(waited)) {
      return absl::AbortedError("the caller takes nothing any more");
    }
    COHOST_RETURN_IF_ERROR(waited);
  }
}

}  // namespace cohost::supervisor
