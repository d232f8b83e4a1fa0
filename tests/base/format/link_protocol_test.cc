// SPDX-License-Identifier: Apache-2.0
#include "base/format/link_protocol.h"

#include <cstring>

#include "gtest/gtest.h"

namespace cohost {
namespace {

LinkMessage State() {
  LinkMessage message;
  message.type = LinkType::kState;
  message.sequence = 9;
  message.segment_version = 3;
  message.binary_id = std::string("\1\0\2", 3);
  message.draining = true;
  message.listener_tokens = {7, 1ULL << 40};
  message.services = {{.service_id = 5, .revision = 6, .row = 1, .state = 2},
                      {.service_id = 8, .revision = 1, .row = kNoRow, .state = 3}};
  return message;
}

// The header's field at `offset`, overwritten.
template <typename T>
std::string With(std::string bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  return bytes;
}

absl::StatusCode CodeOf(const std::string& bytes, size_t descriptors = 0) {
  return DecodeLinkMessage(bytes, descriptors).status().code();
}

TEST(LinkProtocol, StateRoundTrips) {
  const auto decoded = DecodeLinkMessage(EncodeLinkMessage(State(), 0), 0);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->type, LinkType::kState);
  EXPECT_EQ(decoded->sequence, 9u);
  EXPECT_EQ(decoded->segment_version, 3u);
  EXPECT_EQ(decoded->binary_id, std::string("\1\0\2", 3));
  EXPECT_TRUE(decoded->draining);
  EXPECT_EQ(decoded->listener_tokens, (std::vector<uint64_t>{7, 1ULL << 40}));
  ASSERT_EQ(decoded->services.size(), 2u);
  EXPECT_EQ(decoded->services[1].service_id, 8u);
  EXPECT_EQ(decoded->services[1].row, kNoRow);
}

TEST(LinkProtocol, OtherBodiesRoundTrip) {
  LinkMessage drain;
  drain.type = LinkType::kDrain;
  drain.timeout = absl::Seconds(30);
  EXPECT_EQ(DecodeLinkMessage(EncodeLinkMessage(drain, 0), 0)->timeout, absl::Seconds(30));
  drain.timeout = absl::InfiniteDuration();
  EXPECT_EQ(DecodeLinkMessage(EncodeLinkMessage(drain, 0), 0)->timeout, absl::InfiniteDuration());

  LinkMessage ack;
  ack.type = LinkType::kAck;
  ack.code = 8;
  ack.message = "descriptor limit";
  EXPECT_EQ(DecodeLinkMessage(EncodeLinkMessage(ack, 0), 0)->code, 8);
  EXPECT_EQ(DecodeLinkMessage(EncodeLinkMessage(ack, 0), 0)->message, "descriptor limit");

  LinkMessage listener;
  listener.type = LinkType::kListener;
  listener.token = 77;
  EXPECT_EQ(DecodeLinkMessage(EncodeLinkMessage(listener, 1), 1)->token, 77u);

  LinkMessage service = State();
  service.type = LinkType::kServiceState;
  EXPECT_EQ(DecodeLinkMessage(EncodeLinkMessage(service, 0), 0)->services[0].revision, 6u);
}

// Frozen: these bytes must read the same for ever.
TEST(LinkProtocol, HelloHasTheseBytes) {
  LinkMessage hello;
  hello.sequence = 1;
  hello.segment_version = 1;
  hello.binary_id = "id";
  EXPECT_EQ(EncodeLinkMessage(hello, 0),
            std::string("CLNK\1\0\1\0\1\0\0\0\0\0\0\0\x0a\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0id", 34));
}

TEST(LinkProtocol, EveryCutIsRefused) {
  const std::string bytes = EncodeLinkMessage(State(), 0);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(CodeOf(bytes.substr(0, length)), absl::StatusCode::kInvalidArgument) << length;
    // The same with a header that claims the cut length.
    if (length < sizeof(LinkHeader)) continue;
    const auto size = static_cast<uint32_t>(length - sizeof(LinkHeader));
    EXPECT_EQ(CodeOf(With(bytes.substr(0, length), 16, size)), absl::StatusCode::kInvalidArgument);
  }
}

TEST(LinkProtocol, TrailingBytesAreRefused) {
  const std::string bytes = EncodeLinkMessage(State(), 0) + "x";
  const auto size = static_cast<uint32_t>(bytes.size() - sizeof(LinkHeader));
  EXPECT_EQ(CodeOf(With(bytes, 16, size)), absl::StatusCode::kInvalidArgument);
}

TEST(LinkProtocol, WrongMagicVersionOrSizeIsRefused) {
  const std::string bytes = EncodeLinkMessage(State(), 0);
  EXPECT_EQ(CodeOf(With(bytes, 0, uint32_t{0x12345678})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(With(bytes, 4, uint16_t{0})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(With(bytes, 16, uint32_t{0xffffffff})), absl::StatusCode::kInvalidArgument);
}

TEST(LinkProtocol, HostileCountsAndEnumeratorsAreRefused) {
  LinkMessage message;
  message.type = LinkType::kState;
  const std::string empty = EncodeLinkMessage(message, 0);
  constexpr size_t kBody = sizeof(LinkHeader);
  EXPECT_EQ(CodeOf(empty), absl::StatusCode::kOk);
  // Length of the id, draining, count of tokens, count of services.
  for (const size_t offset : {kBody + 4, kBody + 8, kBody + 12, kBody + 16}) {
    EXPECT_EQ(CodeOf(With(empty, offset, uint32_t{0xffffffff})), absl::StatusCode::kInvalidArgument)
        << offset;
  }
  message = State();
  message.services[0].state = 99;
  EXPECT_EQ(CodeOf(EncodeLinkMessage(message, 0)), absl::StatusCode::kInvalidArgument);
  message = State();
  message.services[0].row = kServiceRows;
  EXPECT_EQ(CodeOf(EncodeLinkMessage(message, 0)), absl::StatusCode::kInvalidArgument);
}

TEST(LinkProtocol, DescriptorsMustBeExactlyTheTypes) {
  LinkMessage listener;
  listener.type = LinkType::kListener;
  EXPECT_EQ(CodeOf(EncodeLinkMessage(listener, 1), 1), absl::StatusCode::kOk);
  EXPECT_EQ(CodeOf(EncodeLinkMessage(listener, 1), 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(EncodeLinkMessage(listener, 0), 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(EncodeLinkMessage(listener, 2), 2), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(EncodeLinkMessage(State(), 1), 1), absl::StatusCode::kInvalidArgument);
}

TEST(LinkProtocol, UnknownTypesOfAnyVersionAreUnimplementedWithTheirSequence) {
  LinkMessage rearm;
  rearm.type = LinkType::kRearm;
  rearm.sequence = 42;
  const std::string bytes = EncodeLinkMessage(rearm, 0);
  const std::string unknown = With(bytes, 6, uint16_t{999});
  EXPECT_EQ(CodeOf(unknown), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(DecodeLinkHeader(unknown)->sequence, 42u);
  EXPECT_EQ(CodeOf(With(bytes, 4, uint16_t{2})), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(CodeOf(With(bytes, 6, uint16_t{0})), absl::StatusCode::kUnimplemented);
}

TEST(LinkProtocol, FrozenTypesReadTheSameInLaterVersions) {
  const std::string state = With(EncodeLinkMessage(State(), 0), 4, uint16_t{7});
  EXPECT_EQ(DecodeLinkMessage(state, 0)->services.size(), 2u);
}

}  // namespace
}  // namespace cohost
