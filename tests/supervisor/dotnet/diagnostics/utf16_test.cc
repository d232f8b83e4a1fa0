// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/diagnostics/utf16.h"

#include <gtest/gtest.h>

namespace cohost::supervisor {
namespace {

TEST(Utf16, GoesThereAndBack) {
  for (const std::string_view text : {"", "plain", "é", "€", "😀 x", "\u07ff\uffff"}) {
    EXPECT_EQ(FromUtf16Bytes(Utf16Bytes(text)), text);
  }
  EXPECT_EQ(Utf16Bytes("é😀"), std::string("\xe9\x00\x3d\xd8\x00\xde", 6));
}

TEST(Utf16, WhatIsNoTextIsReplaced) {
  EXPECT_EQ(FromUtf16Bytes(std::string_view("\x00\xd8\x41\x00\x00\xdc\x42", 7)),
            "\xef\xbf\xbd"
            "A"
            "\xef\xbf\xbd");
  EXPECT_EQ(Utf16Bytes("\xff"), "\xfd\xff");
}

}  // namespace
}  // namespace cohost::supervisor
