// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/archive_head.h"

#include "gtest/gtest.h"
#include "supervisor/ctl/exchange/archive/field.h"

namespace cohost::supervisor {
namespace {

ArchiveHead Sample() {
  return {"1.2.3",
          "shop 1",
          absl::FromUnixSeconds(1'767'323'045),
          12,
          std::string(64, 'a'),
          std::string(64, 'b')};
}

TEST(ArchiveHead, IsWrittenAsItsSpecificationSays) {
  const std::string above =
      "cohost-export 1\nhost-version 1.2.3\nhostname shop%201\n"
      "time 2026-01-02T03:04:05Z\nrevision 12\ndeployment " +
      std::string(64, 'a') + "\nfiles " + std::string(64, 'b') + "\n";
  EXPECT_EQ(FormatArchiveHead(Sample()), above + "check " + HashOf(above) + "\n");
}

TEST(ArchiveHead, ComesBack) {
  const auto head = ParseArchiveHead(FormatArchiveHead(Sample()));
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(*head, Sample());
}

TEST(ArchiveHead, AnotherFormatIsToldFromNone) {
  EXPECT_EQ(ParseArchiveHead("cohost-export 2\nwhatever\n").status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(ParseArchiveHead("#!/bin/sh\n").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ArchiveHead, EveryCutAndEveryChangedByteIsRefused) {
  const std::string text = FormatArchiveHead(Sample());
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(ParseArchiveHead(text.substr(0, length)).ok()) << length;
  }
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char change : {'\x01', '\x20', '\x80'}) {
      std::string other = text;
      other[at] = static_cast<char>(other[at] ^ change);
      EXPECT_FALSE(ParseArchiveHead(other).ok()) << at;
    }
  }
  EXPECT_FALSE(ParseArchiveHead(text + "\n").ok());
  EXPECT_FALSE(ParseArchiveHead(text + text).ok());
}

}  // namespace
}  // namespace cohost::supervisor
