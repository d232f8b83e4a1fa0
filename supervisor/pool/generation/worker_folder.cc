// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/worker_folder.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kDigits = 12;
// "/dotnet-diagnostic-4194304-99999999999-socket": a process id and jiffies since the start.
constexpr size_t kLongestSocket = 46;

std::vector<std::filesystem::path> EntriesOf(const std::string& folder, std::error_code& error) {
  std::vector<std::filesystem::path> entries;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(entry->path());
  }
  return entries;
}

}  // namespace

std::string WorkerFolderPath(const std::string& parent, const GenerationId& id) {
  Sha256 hash;
  hash.Update(id.ProcessName());
  return absl::StrCat(parent, "/", HexDigest(hash.Finish()).substr(0, kDigits));
}

absl::Status MakeWorkerFolder(const std::string& path, const ProcessIdentity& identity) {
  if (path.size() + kLongestSocket >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' is too long for .NET's diagnostics socket below it: choose a ",
                     "shorter host.runtime_dir"));
  }
  // Of an earlier worker by that name.
  COHOST_RETURN_IF_ERROR(RemoveWorkerFolder(path));
  COHOST_RETURN_IF_ERROR(MakeFolders(path.substr(0, path.rfind('/')), 0711));
  if (::mkdir(path.c_str(), 0700) != 0) return ErrnoStatus(errno, "mkdir", path);
  if (!identity.uid || *identity.uid == ::geteuid()) return absl::OkStatus();
  // The group stays ours: without CAP_DAC_OVERRIDE root needs it to empty the folder.
  if (::chmod(path.c_str(), 0770) != 0) return ErrnoStatus(errno, "chmod", path);
  if (::chown(path.c_str(), *identity.uid, static_cast<gid_t>(-1)) != 0) {
    return ErrnoStatus(errno, "chown", path);
  }
  return absl::OkStatus();
}

absl::Status RemoveWorkerFolder(const std::string& path) {
  std::error_code error;
  for (const std::filesystem::path& entry : EntriesOf(path, error)) {
    // Ignoring failures: the folder's own says it.
    (void)::unlink(entry.c_str());
  }
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return ErrnoStatus(errno, "rmdir", path);
}

absl::Status RemoveOtherWorkerFolders(const std::string& parent,
                                      const std::set<std::string>& kept) {
  std::error_code error;
  absl::Status status;
  for (const std::filesystem::path& entry : EntriesOf(parent, error)) {
    if (!kept.contains(entry.string())) status.Update(RemoveWorkerFolder(entry.string()));
  }
  if (!error || error == std::errc::no_such_file_or_directory) return status;
  return ErrnoStatus(error.value(), "opendir", parent);
}

}  // namespace cohost::supervisor
