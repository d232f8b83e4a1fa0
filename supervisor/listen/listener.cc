// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"
#include "supervisor/config/accounts.h"
#include "supervisor/config/address_text.h"
#include "supervisor/listen/address_holder.h"
#include "supervisor/listen/socket_address.h"

namespace cohost::supervisor {
namespace {

absl::StatusOr<UniqueFd> OpenSocket(int family) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "socket", "");
  return fd;
}

absl::Status Enable(int fd, int level, int option) {
  const int on = 1;
  if (setsockopt(fd, level, option, &on, sizeof(on)) != 0) {
    return ErrnoStatus(errno, "setsockopt", "");
  }
  return absl::OkStatus();
}

// The status of a failed bind or listen; an address in use names its holder.
absl::Status BindError(int error, const char* call, const Address& address) {
  if (error != EADDRINUSE) return ErrnoStatus(error, call, address.text);
  return absl::AlreadyExistsError(
      absl::StrCat("'", address.text, "' is in use by ", DescribeHolder(address)));
}

absl::StatusOr<Listener> OpenTcp(const Address& address) {
  COHOST_ASSIGN_OR_RETURN(const SocketAddress wanted, TcpSocketAddress(address));
  const bool v6 = wanted.storage.ss_family == AF_INET6;
  Listener listener;
  listener.address = address;
  COHOST_ASSIGN_OR_RETURN(listener.fd, OpenSocket(wanted.storage.ss_family));
  const int fd = listener.fd.get();
  // Connections of a predecessor in TIME_WAIT must not block a restart. Never SO_REUSEPORT: each
  // socket would have its own queue, and closing one resets the connections in it (SOK-01).
  COHOST_RETURN_IF_ERROR(Enable(fd, SOL_SOCKET, SO_REUSEADDR));
  if (v6) COHOST_RETURN_IF_ERROR(Enable(fd, IPPROTO_IPV6, IPV6_V6ONLY));
  if (bind(fd, wanted.get(), wanted.length) != 0) return BindError(errno, "bind", address);
  if (listen(fd, address.backlog) != 0) return BindError(errno, "listen", address);
  COHOST_ASSIGN_OR_RETURN(const SocketAddress bound, BoundAddress(fd));
  if (address.port == 0) SetPort(listener.address, PortOf(bound));
  return listener;
}

// The owner and group that a socket file gets; none: it keeps the caller's.
absl::StatusOr<std::optional<User>> OwnerOf(const Address& address,
                                            std::optional<uid_t> default_owner) {
  if (address.owner.has_value()) {
    COHOST_ASSIGN_OR_RETURN(const User user, FindUser(*address.owner));
    return std::optional<User>(user);
  }
  if (!default_owner.has_value()) return std::optional<User>();
  const absl::StatusOr<User> user = FindUserById(*default_owner);
  // A number without an account is a valid owner; the group stays then.
  return std::optional<User>(user.ok() ? *user : User{*default_owner, static_cast<gid_t>(-1)});
}

absl::Status SetOwnerAndMode(const std::string& path, const Address& address,
                             std::optional<uid_t> default_owner) {
  COHOST_ASSIGN_OR_RETURN(const std::optional<User> owner, OwnerOf(address, default_owner));
  if (owner.has_value() && lchown(path.c_str(), owner->uid, owner->gid) != 0) {
    return ErrnoStatus(errno, "chown", path);
  }
  if (chmod(path.c_str(), address.mode) != 0) return ErrnoStatus(errno, "chmod", path);
  return absl::OkStatus();
}

// Binds, at `path`, a socket that nobody can connect to yet.
absl::Status BindUnix(int fd, const std::string& path, const Address& address,
                      std::optional<uid_t> default_owner) {
  COHOST_ASSIGN_OR_RETURN(const SocketAddress wanted, UnixSocketAddress(path));
  // The file is made with the mode of the socket's own inode (less the umask), so it is never wider
  // than this, not even for an instant.
  if (fchmod(fd, 0600) != 0) return ErrnoStatus(errno, "fchmod", path);
  if (bind(fd, wanted.get(), wanted.length) != 0) return BindError(errno, "bind", address);
  absl::Status status = SetOwnerAndMode(path, address, default_owner);
  if (status.ok() && listen(fd, address.backlog) != 0) {
    status = BindError(errno, "listen", address);
  }
  // Ignoring a failed unlink: the status says what went wrong first.
  if (!status.ok()) (void)unlink(path.c_str());
  return status;
}

// Puts the new socket in the place of the stale one with a rename: at no instant is the path empty.
absl::Status ReplaceUnix(int fd, const Address& address, std::optional<uid_t> default_owner) {
  static std::atomic<uint32_t> counter{0};
  const std::string folder = address.path.substr(0, address.path.rfind('/') + 1);
  COHOST_ASSIGN_OR_RETURN(const UniqueFd parent, OpenFile(folder, O_PATH | O_DIRECTORY));
  // Through the descriptor, since the longest path leaves no room for another name beside it.
  const std::string temporary = absl::StrCat("/proc/self/fd/", parent.get(), "/.cohost-", getpid(),
                                             "-", counter.fetch_add(1), ".sock");
  COHOST_RETURN_IF_ERROR(BindUnix(fd, temporary, address, default_owner));
  if (rename(temporary.c_str(), address.path.c_str()) == 0) return absl::OkStatus();
  const absl::Status status = ErrnoStatus(errno, "rename", address.path);
  (void)unlink(temporary.c_str());  // Ignoring: as above.
  return status;
}

absl::StatusOr<Listener> OpenUnix(const Address& address, std::optional<uid_t> default_owner) {
  COHOST_ASSIGN_OR_RETURN(const PathState state, InspectSocketPath(address.path));
  Listener listener;
  listener.address = address;
  COHOST_ASSIGN_OR_RETURN(listener.fd, OpenSocket(AF_UNIX));
  if (state == PathState::kFree) {
    COHOST_RETURN_IF_ERROR(BindUnix(listener.fd.get(), address.path, address, default_owner));
  } else {
    COHOST_RETURN_IF_ERROR(ReplaceUnix(listener.fd.get(), address, default_owner));
  }
  COHOST_ASSIGN_OR_RETURN(listener.file, StatSocketFile(address.path));
  return listener;
}

absl::StatusOr<int> GetOption(int fd, int option) {
  int value = 0;
  socklen_t length = sizeof(value);
  if (getsockopt(fd, SOL_SOCKET, option, &value, &length) != 0) {
    return ErrnoStatus(errno, "getsockopt", "");
  }
  return value;
}

absl::Status Unfit(const Address& address, const char* reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("inherited descriptor for '", address.text, "': ", reason));
}

absl::Status CheckListening(int fd, const Address& address) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, "fstat", "");
  if (!S_ISSOCK(info.st_mode)) return Unfit(address, "not a socket");
  COHOST_ASSIGN_OR_RETURN(const int type, GetOption(fd, SO_TYPE));
  if (type != SOCK_STREAM) return Unfit(address, "not a stream socket");
  COHOST_ASSIGN_OR_RETURN(const int listening, GetOption(fd, SO_ACCEPTCONN));
  return listening != 0 ? absl::OkStatus() : Unfit(address, "does not listen");
}

absl::Status CheckTcp(const SocketAddress& bound, Address& address) {
  Address real = address;
  SetPort(real, PortOf(bound));
  const absl::StatusOr<SocketAddress> expected = TcpSocketAddress(real);
  const bool same = expected.ok() && bound.length == expected->length &&
                    bound.storage.ss_family == expected->storage.ss_family;
  const bool port_fits = address.port == 0 || address.port == real.port;
  // Flow and scope of IPv6 are not part of our addresses: compare the host alone.
  const auto host = [](const SocketAddress& socket) -> std::string_view {
    if (socket.storage.ss_family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&socket.storage);
      return {reinterpret_cast<const char*>(&v6->sin6_addr), sizeof(v6->sin6_addr)};
    }
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&socket.storage);
    return {reinterpret_cast<const char*>(&v4->sin_addr), sizeof(v4->sin_addr)};
  };
  if (!same || !port_fits || host(bound) != host(*expected)) {
    return Unfit(address, "bound to another address");
  }
  address = std::move(real);
  return absl::OkStatus();
}

absl::Status CheckUnix(const SocketAddress& bound, const Address& address,
                       const std::optional<SocketFile>& file, SocketFile& present) {
  COHOST_ASSIGN_OR_RETURN(present, StatSocketFile(address.path));
  const bool ours = file.has_value() ? *file == present : PathOf(bound) == address.path;
  return ours && bound.storage.ss_family == AF_UNIX ? absl::OkStatus()
                                                    : Unfit(address, "bound to another address");
}

}  // namespace

absl::StatusOr<Listener> OpenListener(const Address& address, std::optional<uid_t> default_owner) {
  return address.kind == Address::Kind::kTcp ? OpenTcp(address) : OpenUnix(address, default_owner);
}

absl::StatusOr<Listener> AdoptListener(UniqueFd fd, const Address& address,
                                       std::optional<SocketFile> file) {
  COHOST_RETURN_IF_ERROR(CheckListening(fd.get(), address));
  COHOST_ASSIGN_OR_RETURN(const SocketAddress bound, BoundAddress(fd.get()));
  Listener listener;
  listener.address = address;
  if (address.kind == Address::Kind::kTcp) {
    COHOST_RETURN_IF_ERROR(CheckTcp(bound, listener.address));
  } else {
    COHOST_RETURN_IF_ERROR(CheckUnix(bound, address, file, listener.file));
  }
  const int flags = fcntl(fd.get(), F_GETFL);
  // Accept threads must never wait in accept. Whoever else holds a duplicate is told by systemd's
  // manual to expect this; our own sockets have it from their first day.
  if (flags < 0 ||
      ((flags & O_NONBLOCK) == 0 && fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) ||
      fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) {
    return ErrnoStatus(errno, "fcntl", address.text);
  }
  listener.fd = std::move(fd);
  return listener;
}

absl::Status ApplyAttributes(const Listener& listener, const Address& address,
                             std::optional<uid_t> default_owner) {
  // On a socket that listens this only changes the length of its queue; what waits in it stays.
  if (listen(listener.fd.get(), address.backlog) != 0) {
    return ErrnoStatus(errno, "listen", address.text);
  }
  if (address.kind == Address::Kind::kTcp) return absl::OkStatus();
  COHOST_ASSIGN_OR_RETURN(const SocketFile present, StatSocketFile(address.path));
  if (!(present == listener.file)) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", address.path, "' is another socket by now"));
  }
  return SetOwnerAndMode(address.path, address, default_owner);
}

}  // namespace cohost::supervisor
