// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/export_command.h"

#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/units.h"
#include "supervisor/ctl/cells.h"
#include "supervisor/ctl/exchange/archive/archive_writer.h"
#include "supervisor/ctl/exchange/exchange_failure.h"
#include "supervisor/ctl/exchange/host_deployment.h"
#include "supervisor/ctl/json_text.h"

namespace cohost::supervisor {
namespace {

namespace v1 = admin::v1;

constexpr absl::Duration kTimeout = absl::Seconds(30);

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Writes the archive into a temporary file beside `path`, then gives it its name. The size.
absl::StatusOr<Bytes> WriteFile(const ArchiveParts& parts, const std::string& path) {
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  // Mode 0600: settings are nobody else's.
  const UniqueFd fd(mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "create", temporary);
  struct stat info {};
  absl::Status status = WriteArchive(parts, fd.get());
  if (status.ok() && fsync(fd.get()) != 0) status = ErrnoStatus(errno, "fsync", temporary);
  if (status.ok() && fstat(fd.get(), &info) != 0) status = ErrnoStatus(errno, "fstat", temporary);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, "rename", path);
  }
  if (!status.ok()) {
    // Ignoring a failed unlink: the first error says more.
    (void)unlink(temporary.c_str());
    return status;
  }
  COHOST_RETURN_IF_ERROR(SyncFolder(FolderOf(path)));
  return Bytes{static_cast<uint64_t>(info.st_size)};
}

absl::StatusOr<ArchiveParts> MakeParts(const v1::Status& host, const v1::DeploymentPart& whole,
                                       bool with_modules) {
  ArchiveParts parts;
  parts.head.host_version = host.version();
  parts.head.hostname = host.hostname();
  parts.head.time = absl::Now();
  parts.head.revision = whole.revision();
  COHOST_ASSIGN_OR_RETURN(parts.deployment, TextWithoutOffset(whole));
  COHOST_ASSIGN_OR_RETURN(parts.list, FileListOf(whole));
  for (const v1::ExportedFile& file : whole.files()) {
    if (!file.signatures().empty()) parts.signatures[file.hash()] = file.signatures();
    if (with_modules) parts.paths[file.hash()] = file.path();
  }
  return parts;
}

std::string Report(const ArchiveParts& parts, const std::string& path, Bytes size, size_t services,
                   bool as_json) {
  const size_t files = parts.list.files.size();
  if (as_json) {
    google::protobuf::Struct fields;
    auto& map = *fields.mutable_fields();
    map["file"].set_string_value(path);
    map["revision"].set_number_value(static_cast<double>(parts.head.revision));
    map["services"].set_number_value(static_cast<double>(services));
    map["files"].set_number_value(static_cast<double>(files));
    map["signed"].set_number_value(static_cast<double>(parts.signatures.size()));
    map["included"].set_number_value(static_cast<double>(parts.paths.size()));
    map["sizeBytes"].set_number_value(static_cast<double>(size.count));
    return Json(fields, true);
  }
  std::string text = absl::StrCat(path, ": revision ", parts.head.revision, ", ",
                                  Plural(services, "service"), ", ", Plural(files, "file"));
  if (!parts.signatures.empty()) absl::StrAppend(&text, " (", parts.signatures.size(), " signed)");
  absl::StrAppend(&text, ", ", FormatMegabytes(size), "\n");
  if (parts.paths.empty() && files > 0) {
    text += "the files themselves are not in it: the other host must have them, or use --modules\n";
  }
  return text;
}

}  // namespace

int RunExport(const Invocation& invocation, AdminClient& client, std::ostream& out,
              std::ostream& errors) {
  const absl::Duration timeout = invocation.timeout.value_or(kTimeout);
  v1::Status host;
  grpc::Status call =
      client.stub().GetStatus(ContextFor(timeout).get(), v1::GetStatusRequest(), &host);
  v1::DeploymentPart whole;
  if (call.ok()) call = FetchDeployment(client.stub(), timeout, &whole);
  if (!call.ok()) return Fail(CallFailure(call, client.socket()), errors);
  const absl::StatusOr<ArchiveParts> parts = MakeParts(host, whole, invocation.modules);
  if (!parts.ok()) return Fail(LocalFailure(parts.status()), errors);
  const absl::StatusOr<Bytes> written = WriteFile(*parts, invocation.name);
  if (!written.ok()) return Fail(LocalFailure(written.status()), errors);
  out << Report(*parts, invocation.name, *written, host.services(),
                invocation.output == OutputFormat::kJson);
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace cohost::supervisor
