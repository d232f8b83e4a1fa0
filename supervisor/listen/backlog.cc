// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/backlog.h"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/status.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"
#include "base/units.h"

namespace cohost::supervisor {
namespace {

absl::StatusOr<AcceptQueue> MeasureTcp(int fd) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) {
    return ErrnoStatus(errno, "getsockopt TCP_INFO", "");
  }
  // For a socket that listens the kernel puts the queue into these two (tcp_get_info).
  return AcceptQueue{info.tcpi_sacked, info.tcpi_unacked};
}

// The cap of now; 4096 is the kernel's default since 5.4.
uint32_t SomaxConn() {
  const absl::StatusOr<std::string> text = ReadRegularFile("/proc/sys/net/core/somaxconn", KiB(1));
  uint32_t value = 4096;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

struct UnixRequest {
  nlmsghdr header{};
  unix_diag_req body{};
};

// The answer of the kernel about one unix socket: unset when it has none (no unix_diag).
std::optional<unix_diag_rqlen> ParseAnswer(const char* data, size_t size) {
  nlmsghdr header;
  if (size < NLMSG_LENGTH(sizeof(unix_diag_msg))) return std::nullopt;
  std::memcpy(&header, data, sizeof(header));
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || header.nlmsg_len > size) return std::nullopt;
  size_t offset = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(unix_diag_msg)));
  while (offset + sizeof(nlattr) <= header.nlmsg_len) {
    nlattr attribute;
    std::memcpy(&attribute, data + offset, sizeof(attribute));
    if (attribute.nla_len < sizeof(attribute)) return std::nullopt;
    unix_diag_rqlen lengths;
    if (attribute.nla_type == UNIX_DIAG_RQLEN &&
        offset + NLA_HDRLEN + sizeof(lengths) <= header.nlmsg_len) {
      std::memcpy(&lengths, data + offset + NLA_HDRLEN, sizeof(lengths));
      return lengths;
    }
    offset += NLA_ALIGN(attribute.nla_len);
  }
  return std::nullopt;
}

std::optional<unix_diag_rqlen> AskKernel(ino_t socket_inode) {
  const UniqueFd netlink(
      socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  if (!netlink.valid()) return std::nullopt;
  UnixRequest request;
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = AF_UNIX;
  request.body.udiag_states = ~0u;
  request.body.udiag_ino = static_cast<uint32_t>(socket_inode);
  request.body.udiag_show = UDIAG_SHOW_RQLEN;
  request.body.udiag_cookie[0] = request.body.udiag_cookie[1] = ~0u;
  // The kernel answers inside send(): nothing to wait for.
  if (send(netlink.get(), &request, sizeof(request), 0) != sizeof(request)) return std::nullopt;
  std::array<char, 1024> answer{};
  const ssize_t got = recv(netlink.get(), answer.data(), answer.size(), 0);
  if (got < 0) return std::nullopt;
  return ParseAnswer(answer.data(), static_cast<size_t>(got));
}

}  // namespace

absl::StatusOr<AcceptQueue> MeasureAcceptQueue(const Listener& listener) {
  if (listener.address.kind == Address::Kind::kTcp) return MeasureTcp(listener.fd.get());
  struct stat info {};
  if (fstat(listener.fd.get(), &info) != 0) return ErrnoStatus(errno, "fstat", "");
  if (const auto lengths = AskKernel(info.st_ino)) {
    // For a socket that listens: what waits, and what may wait (unix_diag.h).
    return AcceptQueue{lengths->udiag_wqueue, lengths->udiag_rqueue};
  }
  return AcceptQueue{std::min(SomaxConn(), static_cast<uint32_t>(listener.address.backlog)),
                     std::nullopt};
}

}  // namespace cohost::supervisor
