// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/table.h"

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

TEST(Table, AlignsByTheWidestCellAndEndsLinesWithoutBlanks) {
  Table table({{"NAME"}, {"COUNT", Align::kRight}, {"END"}});
  table.Add({"a", "5", "x"});
  table.Add({"longer", "1,234", ""});
  EXPECT_EQ(table.Render(false),
            "NAME    COUNT  END\n"
            "a           5  x\n"
            "longer  1,234\n");
}

TEST(Table, CountsCodePointsNotBytes) {
  Table table({{"NAME"}, {"X"}});
  table.Add({"\xc3\xa9\xc3\xa9", "1"});
  table.Add({"eeeee", "2"});
  EXPECT_EQ(table.Render(false),
            "NAME   X\n"
            "\xc3\xa9\xc3\xa9     1\n"
            "eeeee  2\n");
}

TEST(Table, ColourIsOutsideOfTheWidth) {
  Table table({{"A"}, {"B"}});
  table.Add({Cell("bad", Tone::kBad), "x"});
  EXPECT_EQ(table.Render(true),
            "\x1b[2mA\x1b[0m    \x1b[2mB\x1b[0m\n"
            "\x1b[31mbad\x1b[0m  x\n");
}

TEST(Table, ATextDoesNotSteerTheTerminal) {
  EXPECT_EQ(Paint("a\x1b[2Jb\nc\x7f", Tone::kPlain, true), "a?[2Jb?c?");
  EXPECT_EQ(Paint("a\xc2\x9b"
                  "2J\xc2\xa0\xc3\x9b",
                  Tone::kPlain, false),
            "a?2J\xc2\xa0\xc3\x9b");
}

TEST(Table, ARuleStandsAboveTheSums) {
  Table table({{"N"}});
  table.Add({"abc"});
  table.AddRule();
  table.Add({"sum"});
  EXPECT_EQ(table.Render(false), "N\nabc\n---\nsum\n");
}

TEST(Sheet, LeavesOutWhatIsEmpty) {
  Sheet sheet;
  sheet.Add("Key", "value");
  sheet.Add("None", "");
  sheet.Add("Longer", "x");
  EXPECT_EQ(sheet.Render(false), "Key     value\nLonger  x\n");
}

}  // namespace
}  // namespace cohost::supervisor
