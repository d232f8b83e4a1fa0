// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/diagnostics_calls.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/valid_utf8.h"
#include "supervisor/admin/diagnosed_worker.h"
#include "supervisor/admin/message_values.h"
#include "supervisor/admin/messages.h"
#include "supervisor/admin/stream/diagnostics_stream.h"
#include "supervisor/dotnet/diagnostics/core_dump.h"

namespace cohost::supervisor {
namespace {

constexpr int kMostProviders = 64;
constexpr size_t kLongestProvider = 1024;
constexpr uint32_t kUsualLevel = 4;
constexpr uint32_t kMostLevel = 5;
constexpr absl::Duration kShortestTrace = absl::Milliseconds(100);
constexpr absl::Duration kLongestDuration = absl::Hours(1);
// Without a rundown there are few events: it is for counters.
constexpr uint32_t kSmallBufferMib = 4;

DiagnosticsCalls::Call* Refuse(const absl::Status& status) {
  auto stream = std::make_shared<MessageStream<admin::v1::DiagnosticsPart>>(1);
  auto* call = stream->Open();
  stream->Close(GrpcStatus(status));
  return call;
}

template <typename Request>
std::optional<uint32_t> SlotOf(const Request& request) {
  return request.has_slot() ? std::optional<uint32_t>(request.slot()) : std::nullopt;
}

absl::StatusOr<DumpKind> KindOf(admin::v1::DumpKind kind) {
  if (kind == admin::v1::DUMP_KIND_MINI) return DumpKind::kMini;
  if (kind == admin::v1::DUMP_KIND_FULL) return DumpKind::kFull;
  if (kind == admin::v1::DUMP_KIND_HEAP || kind == admin::v1::DUMP_KIND_UNSPECIFIED) {
    return DumpKind::kHeap;
  }
  return absl::InvalidArgumentError(absl::StrCat("kind ", kind, " is none of this version"));
}

// What `dotnet-trace` collects when it is asked for nothing in particular.
std::vector<TraceProvider> UsualProviders() {
  return {{"Microsoft-DotNETCore-SampleProfiler", 0, kUsualLevel, ""},
          {"Microsoft-Windows-DotNETRuntime", 0x14c14fccbd, kUsualLevel, ""}};
}

absl::StatusOr<TraceOptions> OptionsOf(const admin::v1::TraceWorkerRequest& request) {
  if (request.providers_size() > kMostProviders) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", request.providers_size(),
                                                   " providers; at most ", kMostProviders));
  }
  TraceOptions options;
  options.rundown = !request.without_rundown();
  if (!options.rundown) options.buffer_mib = kSmallBufferMib;
  for (const admin::v1::TraceProvider& provider : request.providers()) {
    const std::string& name = provider.name();
    if (name.empty() || name.size() + provider.arguments().size() > kLongestProvider ||
        name.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError(
          "a provider has a name, and with its arguments at most 1024 bytes");
    }
    if (provider.level() > kMostLevel) {
      return absl::InvalidArgumentError(
          absl::StrCat("the level of provider ", name, " is ", provider.level(), "; at most 5"));
    }
    options.providers.push_back({name, provider.keywords(),
                                 provider.level() == 0 ? kUsualLevel : provider.level(),
                                 provider.arguments()});
  }
  if (options.providers.empty()) options.providers = UsualProviders();
  return options;
}

absl::StatusOr<absl::Duration> DurationOf(const admin::v1::TraceWorkerRequest& request) {
  if (!request.has_duration()) return absl::InfiniteDuration();
  const absl::Duration duration = ToDuration(request.duration());
  if (duration < kShortestTrace || duration > kLongestDuration) {
    return absl::InvalidArgumentError(
        absl::StrCat("duration is ", absl::FormatDuration(duration), "; from 100ms to 1h"));
  }
  return duration;
}

}  // namespace

DiagnosticsCalls::DiagnosticsCalls(HostControl& host, std::string dumps_folder)
    : host_(host), dumps_folder_(std::move(dumps_folder)) {
  if (!dumps_folder_.empty()) RemoveLeftDumps(dumps_folder_);
}

void DiagnosticsCalls::Record(uid_t caller, const WorkerView& worker, const std::string& service,
                              const std::string& what) {
  HostEvent event;
  event.kind = "diagnostics";
  event.group = worker.group;
  event.slot = worker.slot;
  event.generation = worker.generation;
  event.service = service;
  event.message = what;
  event.uid = caller;
  host_.Record(std::move(event));
}

DiagnosticsCalls::Call* DiagnosticsCalls::Dump(uid_t caller,
                                               const admin::v1::DumpWorkerRequest& request) {
  const absl::StatusOr<DumpKind> kind = KindOf(request.kind());
  if (!kind.ok()) return Refuse(kind.status());
  const auto snapshot = host_.snapshot();
  const auto worker = FindDiagnosedWorker(*snapshot, request.service(), SlotOf(request));
  if (!worker.ok()) return Refuse(worker.status());
  Record(caller, **worker, request.service(), "core dump");
  return DiagnosticsStream::OpenDump(threads_, **worker, *kind, dumps_folder_);
}

DiagnosticsCalls::Call* DiagnosticsCalls::Trace(uid_t caller,
                                                const admin::v1::TraceWorkerRequest& request) {
  absl::StatusOr<TraceOptions> options = OptionsOf(request);
  if (!options.ok()) return Refuse(options.status());
  const absl::StatusOr<absl::Duration> duration = DurationOf(request);
  if (!duration.ok()) return Refuse(duration.status());
  const auto snapshot = host_.snapshot();
  const auto worker = FindDiagnosedWorker(*snapshot, request.service(), SlotOf(request));
  if (!worker.ok()) return Refuse(worker.status());
  std::string what = "trace of";
  for (const TraceProvider& provider : options->providers) {
    absl::StrAppend(&what, " ", ValidUtf8(provider.name));
  }
  Record(caller, **worker, request.service(), what);
  return DiagnosticsStream::OpenTrace(threads_, **worker, *std::move(options), *duration);
}

}  // namespace cohost::supervisor
