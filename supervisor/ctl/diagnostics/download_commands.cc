// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/diagnostics/download_commands.h"

#include <google/protobuf/struct.pb.h>

#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/units.h"
#include "supervisor/admin/message_values.h"
#include "supervisor/ctl/cells.h"
#include "supervisor/ctl/diagnostics/received_file.h"
#include "supervisor/ctl/exchange/exchange_failure.h"
#include "supervisor/ctl/json_text.h"

namespace cohost::supervisor {
namespace {

namespace v1 = admin::v1;

// Writing a big process takes a while, and so does sending it.
constexpr absl::Duration kDumpTimeout = absl::Minutes(15);
// For the names of all methods after a trace.
constexpr absl::Duration kTraceMargin = absl::Minutes(3);

std::string FileOf(const Invocation& invocation, const char* extension, absl::Time now) {
  if (!invocation.path.empty()) return invocation.path;
  return absl::StrCat(invocation.name, "-",
                      absl::FormatTime("%Y%m%dT%H%M%SZ", now, absl::UTCTimeZone()), extension);
}

using Reader = std::unique_ptr<grpc::ClientReader<v1::DiagnosticsPart>>;

// What a call sends, in a file; or why not.
class Download {
 public:
  Download(const Invocation& invocation, AdminClient& client, std::ostream& out,
           std::ostream& errors)
      : invocation_(invocation), client_(client), out_(out), errors_(errors) {}

  int Run(grpc::ClientContext& context, const Reader& reader, const std::string& path,
          const std::string& what) {
    v1::DiagnosticsPart part;
    // A refusal comes before anything is made on the disk.
    if (!reader->Read(&part)) return Fail(CallFailure(reader->Finish(), client_.socket()), errors_);
    const v1::DiagnosedWorker worker = part.worker();
    absl::StatusOr<ReceivedFile> file = ReceivedFile::Create(path);
    absl::Status written = file.status();
    while (written.ok() && reader->Read(&part)) {
      if (part.size_bytes() > 0) size_ = part.size_bytes();
      written = file->Write(part.data());
    }
    if (!written.ok()) {
      context.TryCancel();
      (void)reader->Finish();
      return Fail(LocalFailure(written), errors_);
    }
    const grpc::Status end = reader->Finish();
    if (!end.ok()) return Fail(CallFailure(end, client_.socket()), errors_);
    if (size_ != 0 && size_ != file->size().count) {
      return Fail({ExitCode::kNoHost,
                   absl::StrCat("the host sent ", file->size().count, " of ", size_, " bytes")},
                  errors_);
    }
    if (const absl::Status finished = file->Finish(); !finished.ok()) {
      return Fail(LocalFailure(finished), errors_);
    }
    out_ << Report(worker, *file, what);
    return static_cast<int>(ExitCode::kDone);
  }

 private:
  std::string Report(const v1::DiagnosedWorker& worker, const ReceivedFile& file,
                     const std::string& what) const {
    if (invocation_.output == OutputFormat::kJson) {
      google::protobuf::Struct fields;
      auto& map = *fields.mutable_fields();
      map["file"].set_string_value(file.path());
      map["sizeBytes"].set_number_value(static_cast<double>(file.size().count));
      map["worker"].set_string_value(SlotName(worker.group(), worker.slot()));
      map["generation"].set_number_value(worker.generation());
      map["pid"].set_number_value(worker.pid());
      for (const std::string& service : worker.services()) {
        map["services"].mutable_list_value()->add_values()->set_string_value(service);
      }
      return Json(fields, true);
    }
    return absl::StrCat(
        file.path(), ": ", what, " of worker ", SlotName(worker.group(), worker.slot()),
        ", process ", worker.pid(), ", ", FormatMegabytes(file.size()), "\nit holds ",
        worker.services_size() == 1
            ? "its one service"
            : absl::StrCat("all ", worker.services_size(), " services of that worker"),
        ": ", absl::StrJoin(worker.services(), ", "), "\n");
  }

  const Invocation& invocation_;
  AdminClient& client_;
  std::ostream& out_;
  std::ostream& errors_;
  uint64_t size_ = 0;
};

v1::DumpKind KindOf(const std::string& kind) {
  if (kind == "mini") return v1::DUMP_KIND_MINI;
  return kind == "full" ? v1::DUMP_KIND_FULL : v1::DUMP_KIND_HEAP;
}

}  // namespace

int RunDump(const Invocation& invocation, AdminClient& client, const Look& look, std::ostream& out,
            std::ostream& errors) {
  v1::DumpWorkerRequest request;
  request.set_service(invocation.name);
  if (invocation.slot) request.set_slot(*invocation.slot);
  request.set_kind(KindOf(invocation.dump_kind));
  const auto context = ContextFor(invocation.timeout.value_or(kDumpTimeout));
  return Download(invocation, client, out, errors)
      .Run(*context, client.stub().DumpWorker(context.get(), request),
           FileOf(invocation, ".dmp", look.now), "core dump");
}

int RunTrace(const Invocation& invocation, AdminClient& client, const Look& look, std::ostream& out,
             std::ostream& errors) {
  v1::TraceWorkerRequest request;
  request.set_service(invocation.name);
  if (invocation.slot) request.set_slot(*invocation.slot);
  Set(request.mutable_duration(), *invocation.duration);
  for (const TraceProviderOption& provider : invocation.providers) {
    v1::TraceProvider& message = *request.add_providers();
    message.set_name(provider.name);
    message.set_keywords(provider.keywords);
    message.set_level(provider.level);
  }
  const auto context = ContextFor(invocation.timeout.value_or(*invocation.duration + kTraceMargin));
  return Download(invocation, client, out, errors)
      .Run(*context, client.stub().TraceWorker(context.get(), request),
           FileOf(invocation, ".nettrace", look.now), "trace");
}

}  // namespace cohost::supervisor
