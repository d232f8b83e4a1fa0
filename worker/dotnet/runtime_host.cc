// SPDX-License-Identifier: Apache-2.0
#include "worker/dotnet/runtime_host.h"

#include <string_view>
#include <utility>

#include "worker/dotnet/current_folder.h"

namespace cohost::worker::dotnet {
namespace {

std::atomic<RuntimeHost*> the_host{nullptr};

RuntimeHost& TheHost() { return *the_host.load(std::memory_order_acquire); }

std::string_view TextOf(const char* text) { return text == nullptr ? "" : text; }

LogLevel LevelOf(ManagedLogLevel level) {
  switch (level) {
    case ManagedLogLevel::kTrace:
    case ManagedLogLevel::kDebug:
      return LogLevel::kDebug;
    case ManagedLogLevel::kInformation:
      return LogLevel::kInfo;
    case ManagedLogLevel::kWarning:
      return LogLevel::kWarning;
    case ManagedLogLevel::kError:
    case ManagedLogLevel::kCritical:
      return LogLevel::kError;
  }
  return LogLevel::kError;
}

}  // namespace

RuntimeHost::RuntimeHost(RuntimeHostParts parts)
    : parts_(std::move(parts)),
      table_{.version = kBoundaryVersion,
             .size = sizeof(HostTable),
             .set_service = SetService,
             .set_folder = SetFolder,
             .log = WriteLog,
             .started = Started,
             .progress = Progress,
             .connection_ended = ConnectionEnded,
             .drained = Drained,
             .stopped = Stopped,
             .notice = Noticed} {
  the_host.store(this, std::memory_order_release);
}

void RuntimeHost::Add(int32_t row, HostedRow hosted) {
  // Never freed: see above.
  rows_.at(static_cast<size_t>(row))
      .store(new HostedRow(std::move(hosted)), std::memory_order_release);
}

const HostedRow* RuntimeHost::Find(int32_t row) const {
  if (row < 0 || static_cast<size_t>(row) >= rows_.size()) return nullptr;
  return rows_[static_cast<size_t>(row)].load(std::memory_order_acquire);
}

void RuntimeHost::SetService(int32_t row, uint64_t since_ns) {
  SetThreadService(row);
  ThreadWork work;
  if (row >= 0) {
    work = {ThreadState::kInService, static_cast<uint32_t>(row),
            SteadyTime{static_cast<int64_t>(since_ns)}};
  }
  (void)TheHost().parts_.slots.Exchange(work);
}

void RuntimeHost::SetFolder(int32_t row, const char* folder) {
  SetServiceFolder(row, std::string(TextOf(folder)));
}

void RuntimeHost::WriteLog(int32_t row, ManagedLogLevel level, const char* category,
                           const char* text) {
  Log& log = TheHost().parts_.log;
  const HostedRow* const hosted = TheHost().Find(row);
  if (hosted == nullptr) {
    return log.Write(LevelOf(level), TextOf(text), {{"category", TextOf(category)}});
  }
  log.Write(LevelOf(level), TextOf(text),
            {{"service", hosted->name}, {"category", TextOf(category)}});
}

void RuntimeHost::Started(int32_t row, int32_t ok, const char* reason) {
  const HostedRow* const hosted = TheHost().Find(row);
  if (hosted != nullptr) hosted->events->Started(ok != 0, std::string(TextOf(reason)));
}

void RuntimeHost::Progress(int32_t row) {
  const HostedRow* const hosted = TheHost().Find(row);
  if (hosted != nullptr) hosted->events->Progress();
}

void RuntimeHost::ConnectionEnded(int32_t row, Channel /*channel*/) {
  const HostedRow* const hosted = TheHost().Find(row);
  if (hosted == nullptr || !hosted->gate->TakeAway()) return;
  TheHost().parts_.note_room(hosted->service_id);
}

void RuntimeHost::Drained(int32_t row, uint32_t cancelled) {
  const HostedRow* const hosted = TheHost().Find(row);
  if (hosted != nullptr) hosted->events->Drained(cancelled);
}

void RuntimeHost::Stopped(int32_t row) {
  const HostedRow* const hosted = TheHost().Find(row);
  if (hosted != nullptr) hosted->events->Stopped();
}

void RuntimeHost::Noticed(int32_t row, Notice notice, const char* text) {
  const HostedRow* const hosted = TheHost().Find(row);
  if (hosted != nullptr) hosted->events->Noticed(notice, std::string(TextOf(text)));
}

}  // namespace cohost::worker::dotnet
