// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/unix_listeners.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "base/system/unique_fd.h"

namespace cohost::supervisor {
namespace {

struct Request {
  nlmsghdr header{};
  unix_diag_req body{};
};

struct Wanted {
  // As the kernel has them: 32 bits of the inode, 12 and 20 bits of the device.
  uint32_t device = 0;
  uint32_t inode = 0;
  std::string_view path;
};

// One socket of the list; its attributes follow `offset` in `message`.
bool IsIt(const Wanted& wanted, std::string_view message) {
  unix_diag_vfs file{};
  std::string_view name;
  size_t offset = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(unix_diag_msg)));
  while (offset + sizeof(nlattr) <= message.size()) {
    nlattr attribute;
    std::memcpy(&attribute, message.data() + offset, sizeof(attribute));
    if (attribute.nla_len < NLA_HDRLEN || attribute.nla_len > message.size() - offset) break;
    const std::string_view value =
        message.substr(offset + NLA_HDRLEN, attribute.nla_len - NLA_HDRLEN);
    if (attribute.nla_type == UNIX_DIAG_NAME) name = value.substr(0, value.find('\0'));
    if (attribute.nla_type == UNIX_DIAG_VFS && value.size() >= sizeof(file)) {
      std::memcpy(&file, value.data(), sizeof(file));
    }
    offset += NLA_ALIGN(attribute.nla_len);
  }
  if (file.udiag_vfs_ino != wanted.inode) return false;
  // A relative name says nothing against it.
  return file.udiag_vfs_dev == wanted.device || name == wanted.path || name.substr(0, 1) != "/";
}

// What one answer says: unset when the list goes on.
absl::StatusOr<std::optional<bool>> Search(const Wanted& wanted, std::string_view answer) {
  while (answer.size() >= sizeof(nlmsghdr)) {
    nlmsghdr header;
    std::memcpy(&header, answer.data(), sizeof(header));
    if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > answer.size()) break;
    if (header.nlmsg_type == NLMSG_DONE) return false;
    if (header.nlmsg_type == NLMSG_ERROR) {
      return absl::UnavailableError("the kernel does not list unix sockets");
    }
    if (IsIt(wanted, answer.substr(0, header.nlmsg_len))) return true;
    answer.remove_prefix(std::min<size_t>(NLMSG_ALIGN(header.nlmsg_len), answer.size()));
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<bool> IsListenedOn(dev_t device, ino_t inode, const std::string& path) {
  const UniqueFd netlink(
      socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  if (!netlink.valid()) return absl::UnavailableError("the kernel does not list unix sockets");
  Request request;
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = AF_UNIX;
  request.body.udiag_states = 1U << TCP_LISTEN;
  request.body.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS;
  if (send(netlink.get(), &request, sizeof(request), 0) != sizeof(request)) {
    return ErrnoStatus(errno, "send", "sock_diag");
  }
  const Wanted wanted{major(device) << 20 | minor(device), static_cast<uint32_t>(inode), path};
  // A dump goes on inside each recv(): nothing to wait for.
  std::array<char, 32768> answer;
  while (true) {
    const ssize_t got = recv(netlink.get(), answer.data(), answer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return ErrnoStatus(errno, "recv", "sock_diag");
    COHOST_ASSIGN_OR_RETURN(const std::optional<bool> found,
                            Search(wanted, {answer.data(), static_cast<size_t>(got)}));
    if (found) return *found;
  }
}

}  // namespace cohost::supervisor
