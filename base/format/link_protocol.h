// SPDX-License-Identifier: Apache-2.0
//
// The link: a SOCK_SEQPACKET socketpair between the supervisor and one worker, made at the worker's
// spawn and held by the keeper, so that the next supervisor finds it again. It carries what gRPC
// cannot: descriptors, and the few words that must be understood whatever the versions of the two
// sides are.
//
// A message is a LinkHeader and a body of `body_size` bytes, little endian, with up to
// kMaxDescriptorsPerMessage descriptors. Frozen for ever: the header, and the types kHello, kState,
// kDrain, kStop. A message may be repeated: handling it twice is handling it once (descriptors that
// are already known by token are closed). Messages of an unknown type are answered with
// kAck{UNIMPLEMENTED} and otherwise ignored. A message that breaks the format ends the link: the
// worker drains and exits as if orphaned, the supervisor recycles the worker.
//
//   supervisor -> worker                          worker -> supervisor
//   kHello                                        kState: the full state, always the answer to
//   kHello kListener{token} + 1 descriptor               kAck{sequence, code}
//   kReleaseListener{token}                       kAck
//   kChannel + 1 descriptor (gRPC stream socket)  kAck
//   kSuccessor + 1 descriptor (hand-over socket)  kAck
//   kPredecessor + 1 descriptor                   kAck
//   kRearm                                        kAck
//   kLogFile + 1 descriptor                       kAck
//   kDrain{timeout}                               kAck, later kDrained
//   kStop                                         (exits)
//                                                 kServiceState{row, state}: whenever one changed
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/format/segment.h"

namespace cohost {

inline constexpr uint32_t kLinkMagic = 0x4b4e4c43;  // "CLNK"
inline constexpr uint16_t kLinkVersion = 1;

enum class LinkType : uint16_t {
  kHello = 1,
  kState = 2,
  kDrain = 3,
  kStop = 4,
  kAck = 16,
  kListener = 17,
  kReleaseListener = 18,
  kChannel = 19,
  kSuccessor = 20,
  kPredecessor = 21,
  kRearm = 22,
  kLogFile = 23,
  kServiceState = 24,
  kDrained = 25,
};

struct LinkHeader {
  uint32_t magic = kLinkMagic;
  uint16_t version = kLinkVersion;
  uint16_t type = 0;  // LinkType
  // Chosen by the sender, rising; an answer repeats it. 0 in messages that answer nothing.
  uint64_t sequence = 0;
  uint32_t body_size = 0;
  uint32_t descriptor_count = 0;
};
static_assert(sizeof(LinkHeader) == 24);

// The state of one service, in kState and kServiceState.
struct LinkServiceState {
  uint64_t service_id = 0;
  uint64_t revision = 0;
  uint32_t row = kNoRow;
  uint32_t state = 0;  // RowState
};
static_assert(sizeof(LinkServiceState) == 24);

// The decoded form of every message. Only the members that its type names in the table above are
// used.
struct LinkMessage {
  LinkType type = LinkType::kHello;
  uint64_t sequence = 0;

  // kHello, kState: of the sender.
  uint32_t segment_version = kSegmentVersion;
  std::string binary_id;  // up to 32 bytes; build id of the sending executable
  // kState
  bool draining = false;
  std::vector<uint64_t> listener_tokens;
  // kState: all; kServiceState: one
  std::vector<LinkServiceState> services;
  // kListener, kReleaseListener
  uint64_t token = 0;
  // kAck: an absl::StatusCode and a text for people
  int32_t code = 0;
  std::string message;
  // kDrain: how long requests in flight may take
  absl::Duration timeout;
};

// The bytes of a message that travels with `descriptor_count` descriptors.
std::string EncodeLinkMessage(const LinkMessage& message, size_t descriptor_count);

// INVALID_ARGUMENT for anything that the format does not allow, UNIMPLEMENTED (with `sequence` in
// the message's place kept by the caller through DecodeLinkHeader) for an unknown type of a
// well-formed message.
absl::StatusOr<LinkMessage> DecodeLinkMessage(std::string_view bytes, size_t descriptor_count);
absl::StatusOr<LinkHeader> DecodeLinkHeader(std::string_view bytes);

// The descriptors a worker starts with, by number. stdin is /dev/null, 1 and 2 the worker's log
// file.
inline constexpr int kLinkDescriptor = 3;
inline constexpr int kSegmentDescriptor = 4;

}  // namespace cohost
