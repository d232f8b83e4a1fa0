// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/diagnostics/nettrace_reader.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/ctl/diagnostics/nettrace_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "provider name payload" of each event.
struct Seen {
  std::vector<std::string> events;
  absl::Status status;
  bool ended = false;
};

Seen Read(const std::string& bytes, size_t part = SIZE_MAX) {
  Seen seen;
  NettraceReader reader([&](const EventKind& kind, std::string_view payload) {
    seen.events.push_back(kind.provider + " " + kind.name + " " + std::string(payload));
  });
  for (size_t at = 0; at < bytes.size() && seen.status.ok();) {
    const std::string some = bytes.substr(at, part);
    seen.status = reader.Feed(some);
    at += some.size();
  }
  seen.ended = reader.ended();
  return seen;
}

NettraceBytes TwoEvents() {
  NettraceBytes stream;
  stream.Kind(7, {"P", "One", {{"field", kInt32Type, {}}}});
  stream.Block("StackBlock", "stacks");
  stream.Event(7, "first");
  stream.Block("SPBlock", "");
  stream.Event(7, "");
  stream.End();
  return stream;
}

TEST(NettraceReader, TellsEventsWithTheirKinds) {
  const Seen seen = Read(TwoEvents().bytes());
  EXPECT_TRUE(seen.status.ok()) << seen.status;
  EXPECT_THAT(seen.events, ElementsAre("P One first", "P One "));
  EXPECT_TRUE(seen.ended);
}

TEST(NettraceReader, PartsOfAnySizeAreTheSame) {
  for (const size_t part : {1, 2, 3, 7, 64}) {
    const Seen seen = Read(TwoEvents().bytes(), part);
    EXPECT_TRUE(seen.status.ok()) << seen.status;
    EXPECT_EQ(seen.events.size(), 2u) << part;
    EXPECT_TRUE(seen.ended);
  }
}

TEST(NettraceReader, HeadersSayOnlyWhatChanges) {
  NettraceBytes stream;
  stream.Kind(7, {"P", "One", {}});
  // The second has no kind and no size of its own: 0 flags and the time.
  stream.Block("EventBlock", NettraceBytes::BlockHeader() + NettraceBytes::Blob(7, "abc") +
                                 std::string("\0\x05", 2) + "def");
  EXPECT_THAT(Read(stream.bytes()).events, ElementsAre("P One abc", "P One def"));
}

TEST(NettraceReader, FieldsMayHaveFields) {
  EventKind seen;
  NettraceReader reader([&](const EventKind& kind, std::string_view) { seen = kind; });
  NettraceBytes stream;
  stream.Kind(1, IncrementKind("System.Runtime"));
  stream.Event(1, "x");
  ASSERT_TRUE(reader.Feed(stream.bytes()).ok());
  ASSERT_EQ(seen.fields.size(), 1u);
  ASSERT_EQ(seen.fields[0].fields.size(), 1u);
  EXPECT_EQ(seen.fields[0].fields[0].name, "Payload");
  EXPECT_EQ(seen.fields[0].fields[0].fields[3].name, "Increment");
}

TEST(NettraceReader, ACutStreamTellsWhatIsWhole) {
  const std::string whole = TwoEvents().bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    const Seen seen = Read(whole.substr(0, size));
    EXPECT_TRUE(seen.status.ok()) << size << ": " << seen.status;
    EXPECT_FALSE(seen.ended) << size;
  }
}

TEST(NettraceReader, WhatIsNoStreamIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(Read("Netperf").status));
  EXPECT_TRUE(absl::IsInvalidArgument(Read(std::string(40, '\0')).status));
  NettraceBytes stream;
  EXPECT_TRUE(absl::IsInvalidArgument(Read(stream.bytes() + "xxx").status));
  NettraceReader reader([](const EventKind&, std::string_view) {});
  EXPECT_FALSE(reader.Feed("Netperf").ok());
  EXPECT_FALSE(reader.Feed(TwoEvents().bytes()).ok()) << "nothing is read after an error";
}

TEST(NettraceReader, HostileLengthsAreRefused) {
  NettraceBytes longer;
  longer.Kind(7, {"P", "One", {}});
  longer.Block("EventBlock", NettraceBytes::BlockHeader() + "\x81" + NettraceBytes::Varint(7) +
                                 NettraceBytes::Varint(0) + NettraceBytes::Varint(UINT64_MAX));
  EXPECT_TRUE(absl::IsInvalidArgument(Read(longer.bytes()).status));
  EXPECT_THAT(Read(longer.bytes()).events, IsEmpty());

  NettraceBytes header;
  header.Block("EventBlock", Raw(uint16_t{500}) + Raw(uint16_t{1}));
  EXPECT_TRUE(absl::IsInvalidArgument(Read(header.bytes()).status));

  NettraceBytes endless;
  endless.Block("EventBlock", NettraceBytes::BlockHeader() + std::string(30, '\xff'));
  EXPECT_TRUE(absl::IsInvalidArgument(Read(endless.bytes()).status));

  const std::string huge = NettraceBytes().bytes() + "\x05\x05\x01" + std::string(8, '\2') +
                           Raw(uint32_t{10}) + "EventBlock\x06" + Raw(uint32_t{17 << 20});
  EXPECT_TRUE(absl::IsInvalidArgument(Read(huge).status));
}

TEST(NettraceReader, HostileDescriptionsAreRefused) {
  const auto describes = [](const std::string& description) {
    NettraceBytes stream;
    stream.Block("MetadataBlock",
                 NettraceBytes::BlockHeader() + NettraceBytes::Blob(0, description));
    return Read(stream.bytes()).status;
  };
  const std::string good = NettraceBytes::Description(1, {"P", "N", {}});
  EXPECT_TRUE(describes(good).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(describes(good.substr(0, good.size() - 1))));
  // Four thousand million fields.
  EXPECT_TRUE(absl::IsInvalidArgument(
      describes(good.substr(0, good.size() - 4) + Raw(uint32_t{0xffffffff}))));
  // Fields in fields without an end.
  std::string deep = good.substr(0, good.size() - 4);
  for (int i = 0; i < 10'000; ++i) deep += Raw(uint32_t{1}) + Raw(kObjectType);
  EXPECT_TRUE(absl::IsInvalidArgument(describes(deep)));
}

TEST(NettraceReader, AnEventOfAKindThatNobodyDescribedIsRefused) {
  NettraceBytes stream;
  stream.Event(7, "x");
  EXPECT_TRUE(absl::IsInvalidArgument(Read(stream.bytes()).status));
}

TEST(NettraceReader, OtherHeadersThanCompressedOnesAreRefused) {
  NettraceBytes stream;
  stream.Block("EventBlock", NettraceBytes::BlockHeader(0));
  EXPECT_TRUE(absl::IsInvalidArgument(Read(stream.bytes()).status));
}

}  // namespace
}  // namespace cohost::supervisor
