// SPDX-License-Identifier: Apache-2.0
#include "base/system/seqpacket.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/status.h"

namespace cohost {
namespace {

// Room for more descriptors than we allow: a peer that sends up to the kernel's limit is then
// answered by our own check and not by a cut message.
constexpr size_t kControlSize = CMSG_SPACE(sizeof(int) * 253);

absl::StatusOr<SocketPair> MakePair(int type) {
  int ends[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return ErrnoStatus(errno, "socketpair", "");
  }
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

absl::Status SendError(int error) {
  switch (error) {
    case EAGAIN:
      return absl::UnavailableError("sendmsg: the peer does not read");
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN:
      return absl::FailedPreconditionError("sendmsg: the peer is gone");
    case ETOOMANYREFS:
      return absl::ResourceExhaustedError("sendmsg: too many descriptors in flight");
    case EMSGSIZE:
      return absl::InvalidArgumentError("sendmsg: message too long");
    default:
      return ErrnoStatus(error, "sendmsg", "");
  }
}

void TakeDescriptors(msghdr& header, std::vector<UniqueFd>& descriptors) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
      descriptors.emplace_back(fd);
    }
  }
}

// The size of the waiting message, 0 at the end of the stream. Asked first so that a receiver
// touches only as much memory as the message has.
absl::StatusOr<size_t> WaitingSize(int socket) {
  ssize_t size = 0;
  do {
    size = recv(socket, nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
  } while (size < 0 && errno == EINTR);
  if (size >= 0) return static_cast<size_t>(size);
  if (errno == EAGAIN) return absl::UnavailableError("recv: no message waits");
  if (errno == ECONNRESET) return 0;
  return ErrnoStatus(errno, "recv", "");
}

}  // namespace

absl::StatusOr<SocketPair> MakeSeqpacketPair() { return MakePair(SOCK_SEQPACKET); }
absl::StatusOr<SocketPair> MakeStreamPair() { return MakePair(SOCK_STREAM); }

absl::Status SendMessage(int socket, std::string_view bytes, std::span<const int> descriptors) {
  // An empty message could not be told from the end of the stream.
  if (bytes.empty() || bytes.size() > kMaxMessageSize) {
    return absl::InvalidArgumentError("sendmsg: message empty or too long");
  }
  if (descriptors.size() > kMaxDescriptorsPerMessage) {
    return absl::InvalidArgumentError("sendmsg: too many descriptors in one message");
  }
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxDescriptorsPerMessage)> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? SendError(errno) : absl::OkStatus();
}

absl::StatusOr<Message> ReceiveMessage(int socket) {
  COHOST_ASSIGN_OR_RETURN(const size_t size, WaitingSize(socket));
  if (size == 0) return absl::OutOfRangeError("recvmsg: the peer closed");
  Message message;
  // One that is too long is received all the same, cut, so that it is gone from the queue.
  message.bytes.resize(std::min(size, kMaxMessageSize));
  iovec part{message.bytes.data(), message.bytes.size()};
  alignas(cmsghdr) std::array<char, kControlSize> control;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t received = 0;
  do {
    received = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return ErrnoStatus(errno, "recvmsg", "");
  TakeDescriptors(header, message.descriptors);
  if ((header.msg_flags & MSG_TRUNC) != 0) {
    return absl::DataLossError("recvmsg: message longer than the limit");
  }
  if ((header.msg_flags & MSG_CTRUNC) != 0) {
    return absl::DataLossError("recvmsg: descriptors lost, the receiver is at its limit");
  }
  if (message.descriptors.size() > kMaxDescriptorsPerMessage) {
    return absl::DataLossError("recvmsg: more descriptors than a message may have");
  }
  message.bytes.resize(static_cast<size_t>(received));
  return message;
}

}  // namespace cohost
