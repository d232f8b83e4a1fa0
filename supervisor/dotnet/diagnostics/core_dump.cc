// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/diagnostics/core_dump.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

constexpr char kDumpName[] = "core";

// A folder that the worker may write, and the dump in it. Gone at the end.
class DumpFolder {
 public:
  static absl::StatusOr<DumpFolder> Make(const std::string& parent,
                                         const DiagnosticsConnection& worker) {
    COHOST_RETURN_IF_ERROR(MakeFolders(parent, 0711));
    std::string path = parent + "/XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, "mkdtemp", path);
    DumpFolder folder(std::move(path));
    if (worker.uid == ::geteuid()) return folder;
    // Its group stays ours, so that we can empty it without CAP_DAC_OVERRIDE.
    if (::chmod(folder.path_.c_str(), 0770) != 0 ||
        ::chown(folder.path_.c_str(), worker.uid, static_cast<gid_t>(-1)) != 0) {
      return ErrnoStatus(errno, "chown", folder.path_);
    }
    return folder;
  }
  DumpFolder(DumpFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  DumpFolder& operator=(DumpFolder&&) = delete;
  ~DumpFolder() {
    if (path_.empty()) return;
    // Ignoring failures: what stays is removed at the next start.
    (void)::unlink(dump().c_str());
    (void)::rmdir(path_.c_str());
  }

  std::string dump() const { return absl::StrCat(path_, "/", kDumpName); }

 private:
  explicit DumpFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// The worker could have put something else there.
absl::StatusOr<UniqueFd> OpenDump(const std::string& path, uid_t owner) {
  COHOST_ASSIGN_OR_RETURN(UniqueFd dump, OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (::fstat(dump.get(), &info) != 0) return ErrnoStatus(errno, "fstat", path);
  if (!S_ISREG(info.st_mode) || info.st_uid != owner || info.st_nlink != 1) {
    return absl::AbortedError("what the .NET runtime wrote is no file of its own");
  }
  return dump;
}

}  // namespace

absl::StatusOr<UniqueFd> TakeCoreDump(const DiagnosticsPort& port, DumpKind kind,
                                      const std::string& parent, absl::Duration limit,
                                      const Interrupt& interrupt) {
  COHOST_ASSIGN_OR_RETURN(const DiagnosticsConnection connection, Connect(port));
  COHOST_ASSIGN_OR_RETURN(const DumpFolder folder, DumpFolder::Make(parent, connection));
  const absl::StatusOr<std::string> answer =
      Call(port, connection, DumpCommand(folder.dump(), kind), limit, interrupt);
  if (!answer.ok()) return answer.status();
  absl::StatusOr<UniqueFd> dump = OpenDump(folder.dump(), connection.uid);
  if (!dump.ok()) return Explain(port, dump.status());
  return dump;
}

void RemoveLeftDumps(const std::string& parent) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;  // what cannot be removed is tried again at the next start
    std::filesystem::remove(entry->path() / kDumpName, ignored);
    std::filesystem::remove(entry->path(), ignored);
  }
}

}  // namespace cohost::supervisor
