// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/diagnostics/diagnostics_port.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/dotnet/diagnostics/timed_io.h"

namespace cohost::supervisor {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { (void)::closedir(folder); }
};

std::string Whose(const DiagnosticsPort& port) { return absl::StrCat("worker ", port.worker); }

absl::Status NoSocket(const DiagnosticsPort& port) {
  return absl::FailedPreconditionError(
      absl::StrCat(Whose(port),
                   " has no diagnostics socket: .NET has not started in it yet, or it "
                   "could not make one; its log says more"));
}

// The name of the runtime's socket. It ends in a number that only the runtime knows.
absl::StatusOr<std::string> FindSocket(const DiagnosticsPort& port, DIR* folder) {
  const std::string begin = absl::StrCat("dotnet-diagnostic-", port.pid, "-");
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(begin) && name.ends_with("-socket")) return std::string(name);
  }
  return NoSocket(port);
}

// The folder is the worker's, so nothing in it is believed: the socket is held before it is looked
// at, and changed and connected to only by what is held.
absl::StatusOr<UniqueFd> HoldSocket(const DiagnosticsPort& port) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(port.folder.c_str()));
  if (folder == nullptr) {
    return errno == ENOENT ? NoSocket(port) : ErrnoStatus(errno, "opendir", port.folder);
  }
  COHOST_ASSIGN_OR_RETURN(const std::string name, FindSocket(port, folder.get()));
  UniqueFd held(::openat(::dirfd(folder.get()), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!held.valid()) return ErrnoStatus(errno, "open", name);
  struct stat of_folder {};
  struct stat of_socket {};
  if (::fstat(::dirfd(folder.get()), &of_folder) != 0 || ::fstat(held.get(), &of_socket) != 0) {
    return ErrnoStatus(errno, "fstat", name);
  }
  // Not a link to somebody else's socket.
  if (!S_ISSOCK(of_socket.st_mode) || of_socket.st_nlink != 1 ||
      of_socket.st_uid != of_folder.st_uid) {
    return absl::AbortedError(absl::StrCat(Whose(port), ": ", name, " is not its own socket"));
  }
  return held;
}

std::string HeldPath(const UniqueFd& held) { return absl::StrCat("/proc/self/fd/", held.get()); }

absl::Status GiveToGroup(const UniqueFd& held) {
  if (::fchownat(held.get(), "", static_cast<uid_t>(-1), ::getegid(), AT_EMPTY_PATH) != 0) {
    return ErrnoStatus(errno, "chown", "the .NET runtime's socket");
  }
  if (::chmod(HeldPath(held).c_str(), 0660) != 0) {
    return ErrnoStatus(errno, "chmod", "the .NET runtime's socket");
  }
  return absl::OkStatus();
}

// 0, or errno.
int ConnectTo(const UniqueFd& held, int socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  HeldPath(held).copy(address.sun_path, sizeof(address.sun_path) - 1);
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0
             ? 0
             : errno;
}

}  // namespace

absl::StatusOr<DiagnosticsConnection> Connect(const DiagnosticsPort& port) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd held, HoldSocket(port));
  DiagnosticsConnection connection;
  connection.socket.Reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection.socket.valid()) return ErrnoStatus(errno, "socket", "");
  int error = ConnectTo(held, connection.socket.get());
  if (error == EACCES) {
    COHOST_RETURN_IF_ERROR(GiveToGroup(held));
    error = ConnectTo(held, connection.socket.get());
  }
  if (error == ECONNREFUSED) {
    return absl::AbortedError(absl::StrCat(Whose(port), " has ended"));
  }
  if (error == EAGAIN) {
    return absl::AbortedError(
        absl::StrCat(Whose(port), ": too many callers wait for its .NET runtime already"));
  }
  if (error != 0) return ErrnoStatus(error, "connect", "the .NET runtime's socket");
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(connection.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return ErrnoStatus(errno, "getsockopt(SO_PEERCRED)", "");
  }
  if (peer.pid != port.pid) {
    return absl::AbortedError(absl::StrCat(Whose(port), ": process ", peer.pid,
                                           " listens on the socket of process ", port.pid));
  }
  connection.uid = peer.uid;
  connection.gid = peer.gid;
  return connection;
}

absl::StatusOr<std::string> Call(const DiagnosticsPort& port, const DiagnosticsConnection& over,
                                 const IpcMessage& command, absl::Duration limit,
                                 const Interrupt& interrupt) {
  COHOST_ASSIGN_OR_RETURN(const std::string bytes, Encode(command));
  const SteadyTime until = SystemClock().Steady() + limit;
  const absl::Status sent = SendAll(over.socket.get(), bytes, until, interrupt);
  if (!sent.ok()) return Explain(port, sent);
  const absl::StatusOr<IpcMessage> answer = ReceiveMessage(over.socket.get(), until, interrupt);
  if (!answer.ok()) return Explain(port, answer.status());
  absl::StatusOr<std::string> payload = PayloadOf(*answer);
  if (!payload.ok()) return Explain(port, payload.status());
  return payload;
}

absl::Status Explain(const DiagnosticsPort& port, const absl::Status& status) {
  if (absl::IsOutOfRange(status)) {
    return absl::AbortedError(
        absl::StrCat(Whose(port), " (process ", port.pid,
                     ") has ended, or its .NET runtime has: ", status.message()));
  }
  if (absl::IsDeadlineExceeded(status)) {
    return absl::AbortedError(absl::StrCat("the .NET runtime of ", Whose(port),
                                           " does not answer: it hangs, or it is busy with what "
                                           "another caller asked for"));
  }
  if (absl::IsCancelled(status)) return status;
  return Annotate(status, Whose(port));
}

}  // namespace cohost::supervisor
