// SPDX-License-Identifier: Apache-2.0
//
// Bodies, all numbers little endian, strings as u32 length and bytes:
//
//   kHello            u32 segment version, string binary id (at most 32)
//   kState            u32 segment version, string binary id, u32 draining (0 or 1),
//                     u32 count + u64 tokens, u32 count + services of 24 bytes (LinkServiceState)
//   kDrain            u64 nanoseconds (2^63-1: no limit)
//   kAck              u32 code (absl::StatusCode, 0 to 16), string text (at most 4 KiB)
//   kListener, kReleaseListener    u64 token
//   kServiceState     one LinkServiceState
//   all others        nothing
//
// A reader refuses a length beyond the message, a count beyond the limits below, trailing bytes,
// enumerators that do not exist, and a number of descriptors that is not exactly the type's. The
// types kHello, kState, kDrain and kStop read the same in every version; of another version's other
// types nothing is read.
#include "base/format/link_protocol.h"

#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/format/wire.h"
#include "base/status.h"
#include "base/system/seqpacket.h"

namespace cohost {
namespace {

constexpr size_t kMaxBinaryId = 32;
constexpr size_t kMaxAckText = 4096;
constexpr size_t kMaxTokens = 4096;
constexpr size_t kMaxServices = kServiceRows;

bool IsFrozen(LinkType type) { return type <= LinkType::kStop; }

// Descriptors that travel with a message of this type; -1: unknown type.
int DescriptorsOf(LinkType type) {
  switch (type) {
    case LinkType::kHello:
    case LinkType::kState:
    case LinkType::kDrain:
    case LinkType::kStop:
    case LinkType::kAck:
    case LinkType::kReleaseListener:
    case LinkType::kRearm:
    case LinkType::kServiceState:
    case LinkType::kDrained:
      return 0;
    case LinkType::kListener:
    case LinkType::kChannel:
    case LinkType::kSuccessor:
    case LinkType::kPredecessor:
    case LinkType::kLogFile:
      return 1;
  }
  return -1;
}

void WriteState(WireWriter& body, const LinkMessage& message) {
  body.U32(message.segment_version);
  body.String(message.binary_id);
  body.U32(message.draining ? 1 : 0);
  body.U32(static_cast<uint32_t>(message.listener_tokens.size()));
  for (const uint64_t token : message.listener_tokens) body.U64(token);
  body.U32(static_cast<uint32_t>(message.services.size()));
  for (const LinkServiceState& service : message.services) body.Raw(&service, sizeof(service));
}

LinkServiceState ReadService(WireReader& body) {
  LinkServiceState service;
  service.service_id = body.U64();
  service.revision = body.U64();
  service.row = body.U32();
  service.state = body.U32();
  body.Require(service.row == kNoRow || service.row < kServiceRows);
  body.Require(service.state <= static_cast<uint32_t>(RowState::kStopped));
  return service;
}

void ReadState(WireReader& body, LinkMessage& message) {
  message.segment_version = body.U32();
  message.binary_id = body.String(kMaxBinaryId);
  const uint32_t draining = body.U32();
  body.Require(draining <= 1);
  message.draining = draining == 1;
  const uint32_t tokens = body.Count(kMaxTokens, sizeof(uint64_t));
  for (uint32_t i = 0; i < tokens; ++i) message.listener_tokens.push_back(body.U64());
  const uint32_t services = body.Count(kMaxServices, sizeof(LinkServiceState));
  for (uint32_t i = 0; i < services; ++i) message.services.push_back(ReadService(body));
}

void WriteBody(WireWriter& body, const LinkMessage& message) {
  switch (message.type) {
    case LinkType::kHello:
      body.U32(message.segment_version);
      body.String(message.binary_id);
      return;
    case LinkType::kState:
      return WriteState(body, message);
    case LinkType::kDrain:
      // ToInt64Nanoseconds saturates, so an infinite timeout becomes the largest number.
      return body.U64(static_cast<uint64_t>(absl::ToInt64Nanoseconds(message.timeout)));
    case LinkType::kAck:
      body.U32(static_cast<uint32_t>(message.code));
      return body.String(std::string_view(message.message).substr(0, kMaxAckText));
    case LinkType::kListener:
    case LinkType::kReleaseListener:
      return body.U64(message.token);
    case LinkType::kServiceState: {
      const LinkServiceState service =
          message.services.empty() ? LinkServiceState{} : message.services.front();
      return body.Raw(&service, sizeof(service));
    }
    case LinkType::kStop:
    case LinkType::kChannel:
    case LinkType::kSuccessor:
    case LinkType::kPredecessor:
    case LinkType::kRearm:
    case LinkType::kLogFile:
    case LinkType::kDrained:
      return;
  }
}

void ReadBody(WireReader& body, LinkMessage& message) {
  switch (message.type) {
    case LinkType::kHello:
      message.segment_version = body.U32();
      message.binary_id = body.String(kMaxBinaryId);
      return;
    case LinkType::kState:
      return ReadState(body, message);
    case LinkType::kDrain: {
      const uint64_t nanoseconds = body.U64();
      constexpr uint64_t kForEver = std::numeric_limits<int64_t>::max();
      body.Require(nanoseconds <= kForEver);
      message.timeout = nanoseconds >= kForEver
                            ? absl::InfiniteDuration()
                            : absl::Nanoseconds(static_cast<int64_t>(nanoseconds));
      return;
    }
    case LinkType::kAck:
      message.code = static_cast<int32_t>(body.U32());
      body.Require(message.code >= 0 && message.code <= 16);
      message.message = body.String(kMaxAckText);
      return;
    case LinkType::kListener:
    case LinkType::kReleaseListener:
      message.token = body.U64();
      return;
    case LinkType::kServiceState:
      message.services.push_back(ReadService(body));
      return;
    case LinkType::kStop:
    case LinkType::kChannel:
    case LinkType::kSuccessor:
    case LinkType::kPredecessor:
    case LinkType::kRearm:
    case LinkType::kLogFile:
    case LinkType::kDrained:
      return;
  }
}

}  // namespace

std::string EncodeLinkMessage(const LinkMessage& message, size_t descriptor_count) {
  WireWriter body;
  WriteBody(body, message);
  LinkHeader header;
  header.type = static_cast<uint16_t>(message.type);
  header.sequence = message.sequence;
  header.body_size = static_cast<uint32_t>(body.bytes().size());
  header.descriptor_count = static_cast<uint32_t>(descriptor_count);
  WireWriter whole;
  whole.Raw(&header, sizeof(header));
  whole.Raw(body.bytes().data(), body.bytes().size());
  return whole.Take();
}

absl::StatusOr<LinkHeader> DecodeLinkHeader(std::string_view bytes) {
  LinkHeader header;
  if (bytes.size() < sizeof(header)) return absl::InvalidArgumentError("link: message cut");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kLinkMagic) return absl::InvalidArgumentError("link: wrong magic");
  if (header.version == 0) return absl::InvalidArgumentError("link: version 0");
  if (header.body_size != bytes.size() - sizeof(header)) {
    return absl::InvalidArgumentError("link: body size does not match the message");
  }
  if (header.descriptor_count > kMaxDescriptorsPerMessage) {
    return absl::InvalidArgumentError("link: too many descriptors");
  }
  return header;
}

absl::StatusOr<LinkMessage> DecodeLinkMessage(std::string_view bytes, size_t descriptor_count) {
  COHOST_ASSIGN_OR_RETURN(const LinkHeader header, DecodeLinkHeader(bytes));
  if (header.descriptor_count != descriptor_count) {
    return absl::InvalidArgumentError("link: descriptors do not match the header");
  }
  LinkMessage message;
  message.type = static_cast<LinkType>(header.type);
  message.sequence = header.sequence;
  const int descriptors = DescriptorsOf(message.type);
  if (descriptors < 0 || (header.version != kLinkVersion && !IsFrozen(message.type))) {
    return absl::UnimplementedError(
        absl::StrCat("link: unknown message type ", header.type, " of version ", header.version));
  }
  if (descriptor_count != static_cast<size_t>(descriptors)) {
    return absl::InvalidArgumentError(absl::StrCat("link: message type ", header.type, " with ",
                                                   descriptor_count, " descriptors, not ",
                                                   descriptors));
  }
  WireReader body(bytes.substr(sizeof(header)));
  ReadBody(body, message);
  if (!body.Complete()) {
    return absl::InvalidArgumentError(absl::StrCat("link: malformed message type ", header.type));
  }
  return message;
}

}  // namespace cohost
