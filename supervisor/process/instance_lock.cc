// SPDX-License-Identifier: Apache-2.0
#include "supervisor/process/instance_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

// "process 4711 (cohostd shop.yaml)", as far as it can be found out.
std::string DescribeHolder(const std::string& lock_path) {
  const auto text = ReadRegularFile(lock_path, Bytes{64});
  pid_t pid = 0;
  if (!text.ok() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &pid) || pid <= 0) {
    return "another process";
  }
  auto command = ReadRegularFile(absl::StrCat("/proc/", pid, "/cmdline"), KiB(64));
  if (!command.ok() || command->empty()) return absl::StrCat("process ", pid);
  while (!command->empty() && command->back() == '\0') command->pop_back();
  for (char& c : *command) {
    // Arguments are separated by NUL; control bytes have no business in a message.
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return absl::StrCat("process ", pid, " (", *command, ")");
}

}  // namespace

absl::StatusOr<UniqueFd> AcquireInstanceLock(const std::string& runtime_dir, pid_t keeper_pid) {
  const std::string path = absl::StrCat(runtime_dir, "/cohost.lock");
  // Never unlinked: somebody could then lock the old file and somebody else a new one.
  COHOST_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0644));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "flock", path);
    return absl::AlreadyExistsError(
        absl::StrCat("folder '", runtime_dir, "' is in use by ", DescribeHolder(path)));
  }
  if (ftruncate(fd.get(), 0) != 0) return ErrnoStatus(errno, "truncate", path);
  COHOST_RETURN_IF_ERROR(Annotate(WriteAll(fd.get(), absl::StrCat(keeper_pid, "\n")), path));
  return fd;
}

}  // namespace cohost::supervisor
