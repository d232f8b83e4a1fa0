// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/field.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;

TEST(Field, EveryTextComesBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& text : {std::string("/srv/a b.so"), std::string("%"), std::string("%25"),
                                  std::string("line\nend"), std::string(), all}) {
    const std::string field = EscapeField(text);
    EXPECT_EQ(field.find_first_of(" \n\t\r"), std::string::npos);
    const auto back = UnescapeField(field);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, text);
  }
}

TEST(Field, RefusesWhatIsNeverWritten) {
  for (const char* field : {"", "a b", "%4", "%4G", "%zz", "%0a", "%41", "a%", "\t", "x\x7f"}) {
    EXPECT_EQ(UnescapeField(field).status().code(), absl::StatusCode::kInvalidArgument) << field;
  }
}

TEST(Field, SplitsAtEveryBlank) {
  EXPECT_THAT(SplitFields("a bc  d"), ElementsAre("a", "bc", "", "d"));
  EXPECT_THAT(SplitFields(""), ElementsAre(""));
}

TEST(Field, LinesAreWholeOrNone) {
  std::string_view text = "one\n\ntwo";
  EXPECT_EQ(*TakeLine(text), "one");
  EXPECT_EQ(*TakeLine(text), "");
  EXPECT_FALSE(TakeLine(text).ok());
  text = "";
  EXPECT_FALSE(TakeLine(text).ok());
}

TEST(Field, NumbersHaveOneSpelling) {
  EXPECT_EQ(*ParseNumber("0"), 0u);
  EXPECT_EQ(*ParseNumber("18446744073709551615"), UINT64_MAX);
  for (const char* field :
       {"", "00", "01", "+1", "-1", " 1", "1 ", "0x1", "18446744073709551616"}) {
    EXPECT_FALSE(ParseNumber(field).ok()) << field;
  }
}

}  // namespace
}  // namespace cohost::supervisor
