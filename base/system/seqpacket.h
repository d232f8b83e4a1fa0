// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"

namespace cohost {

// Most descriptors in one message: the kernel's SCM_MAX_FD is 253; ours is lower so that batches
// stay small.
inline constexpr size_t kMaxDescriptorsPerMessage = 64;
// Longest message; larger ones are refused on both sides.
inline constexpr size_t kMaxMessageSize = 128 * 1024;

// One datagram with its descriptors.
struct Message {
  std::string bytes;
  std::vector<UniqueFd> descriptors;
};

struct SocketPair {
  UniqueFd first;
  UniqueFd second;
};
// A SOCK_SEQPACKET (or SOCK_STREAM) unix socketpair, both ends CLOEXEC and O_NONBLOCK.
absl::StatusOr<SocketPair> MakeSeqpacketPair();
absl::StatusOr<SocketPair> MakeStreamPair();

// Sends one message. UNAVAILABLE when the socket's buffer is full (nothing was sent; try again when
// writable), FAILED_PRECONDITION when the peer is gone, RESOURCE_EXHAUSTED when the kernel refuses
// more descriptors in flight.
absl::Status SendMessage(int socket, std::string_view bytes, std::span<const int> descriptors = {});

// Receives one message. UNAVAILABLE when none waits, OUT_OF_RANGE at the end of the stream,
// DATA_LOSS when the kernel dropped descriptors or cut the message (MSG_CTRUNC, MSG_TRUNC: the
// receiver is at its descriptor limit); what arrived with such a message is closed. Descriptors
// come with CLOEXEC.
absl::StatusOr<Message> ReceiveMessage(int socket);

}  // namespace cohost
