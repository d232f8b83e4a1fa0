// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/unix_socket_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/unique_fd.h"
#include "supervisor/listen/address_holder.h"
#include "supervisor/listen/socket_address.h"
#include "supervisor/listen/unix_listeners.h"

namespace cohost::supervisor {
namespace {

absl::Status Refuse(const std::string& path, const char* what) {
  return absl::FailedPreconditionError(
      absl::StrCat("'", path, "' is ", what, ", not a socket; it is left as it is"));
}

absl::Status InUse(const std::string& path, const std::string& holder) {
  return absl::AlreadyExistsError(absl::StrCat("'", path, "' is in use by ", holder));
}

// The process at the other end of a connection; one without a number is looked for.
std::string PeerOf(int fd, const std::string& path) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid > 0) {
    return DescribeProcess(peer.pid);
  }
  Address address;
  address.kind = Address::Kind::kUnix;
  address.path = path;
  return DescribeHolder(address);
}

// Not even root connects to another user's socket without the capability to override modes.
absl::StatusOr<PathState> ProbeUnreachable(const std::string& path, const struct stat& file) {
  COHOST_ASSIGN_OR_RETURN(const bool is_live, IsListenedOn(file.st_dev, file.st_ino, path));
  if (is_live) return InUse(path, PeerOf(-1, path));
  return PathState::kStale;
}

// Whether somebody listens: a socket file outlives its process, so only connecting tells.
absl::StatusOr<PathState> Probe(const std::string& path, const struct stat& file) {
  COHOST_ASSIGN_OR_RETURN(const SocketAddress address, UnixSocketAddress(path));
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "socket", "");
  if (connect(fd.get(), address.get(), address.length) == 0) {
    return InUse(path, PeerOf(fd.get(), path));
  }
  switch (errno) {
    case ECONNREFUSED:
      return PathState::kStale;
    case ENOENT:  // gone since it was seen
      return PathState::kFree;
    case EAGAIN:      // listens, and its queue is full
    case EPROTOTYPE:  // a datagram or seqpacket socket
      return InUse(path, PeerOf(-1, path));
    case EACCES:
      return ProbeUnreachable(path, file);
    default:
      return ErrnoStatus(errno, "connect", path);
  }
}

}  // namespace

absl::StatusOr<PathState> InspectSocketPath(const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/') + 1);
  struct stat info {};
  if (stat(parent.c_str(), &info) != 0) {
    const absl::Status status = ErrnoStatus(errno, "folder of the socket", parent);
    return absl::FailedPreconditionError(status.message());
  }
  if (lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return PathState::kFree;
    return ErrnoStatus(errno, "lstat", path);
  }
  if (S_ISLNK(info.st_mode)) return Refuse(path, "a symbolic link");
  if (S_ISDIR(info.st_mode)) return Refuse(path, "a folder");
  if (!S_ISSOCK(info.st_mode)) return Refuse(path, "a file");
  return Probe(path, info);
}

absl::StatusOr<SocketFile> StatSocketFile(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "lstat", path);
  if (!S_ISSOCK(info.st_mode)) return Refuse(path, "something else by now");
  return SocketFile{info.st_dev, info.st_ino};
}

absl::Status RemoveSocketFile(const std::string& path, const SocketFile& file) {
  const absl::StatusOr<SocketFile> present = StatSocketFile(path);
  // Not there, or somebody else's: nothing of ours to remove.
  if (!present.ok() || !(*present == file)) return absl::OkStatus();
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, "unlink", path);
  return absl::OkStatus();
}

}  // namespace cohost::supervisor
