// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include "gtest/gtest.h"

namespace cohost {
namespace {

TEST(ParseBytes, ReadsBinaryUnits) {
  EXPECT_EQ(*ParseBytes("0"), Bytes{0});
  EXPECT_EQ(*ParseBytes("4096"), Bytes{4096});
  EXPECT_EQ(*ParseBytes("64Ki"), KiB(64));
  EXPECT_EQ(*ParseBytes("256Mi"), MiB(256));
  EXPECT_EQ(*ParseBytes("2Gi"), GiB(2));
  EXPECT_EQ(*ParseBytes("1Ti"), GiB(1024));
}

TEST(ParseBytes, RefusesUnitsWithTwoMeaningsAndNamesTheLikelyOne) {
  for (const char* text : {"256M", "256MB", "256mb", "256Mib"}) {
    const auto bytes = ParseBytes(text);
    ASSERT_FALSE(bytes.ok()) << text;
    EXPECT_NE(bytes.status().message().find("256Mi?"), std::string::npos) << bytes.status();
  }
}

TEST(ParseBytes, RefusesWhatIsNoSize) {
  for (const char* text : {"", "Mi", "-1", "+1", " 1", "1 Mi", "1.5Mi", "0x10", "1e3", "12Qi"}) {
    EXPECT_EQ(ParseBytes(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseBytes, RefusesOverflow) {
  EXPECT_TRUE(ParseBytes("18446744073709551615").ok());
  EXPECT_FALSE(ParseBytes("18446744073709551616").ok());
  EXPECT_TRUE(ParseBytes("16777215Ti").ok());
  EXPECT_FALSE(ParseBytes("16777216Ti").ok());
}

TEST(FormatBytes, UsesTheLargestUnitThatDivides) {
  EXPECT_EQ(FormatBytes(Bytes{0}), "0");
  EXPECT_EQ(FormatBytes(Bytes{1000}), "1000");
  EXPECT_EQ(FormatBytes(KiB(1)), "1Ki");
  EXPECT_EQ(FormatBytes(MiB(1536)), "1536Mi");
  EXPECT_EQ(FormatBytes(GiB(2)), "2Gi");
}

TEST(FormatMegabytes, HasThreeDigits) {
  EXPECT_EQ(FormatMegabytes(Bytes{420'000}), "0.42 MB");
  EXPECT_EQ(FormatMegabytes(Bytes{9'996'000}), "10.0 MB");
  EXPECT_EQ(FormatMegabytes(Bytes{26'250'000}), "26.2 MB");
  EXPECT_EQ(FormatMegabytes(Bytes{152'400'000}), "152 MB");
}

TEST(ParseDuration, ReadsUnitsAndSums) {
  EXPECT_EQ(*ParseDuration("0"), absl::ZeroDuration());
  EXPECT_EQ(*ParseDuration("250us"), absl::Microseconds(250));
  EXPECT_EQ(*ParseDuration("10ms"), absl::Milliseconds(10));
  EXPECT_EQ(*ParseDuration("30s"), absl::Seconds(30));
  EXPECT_EQ(*ParseDuration("29h"), absl::Hours(29));
  EXPECT_EQ(*ParseDuration("7d"), absl::Hours(168));
  EXPECT_EQ(*ParseDuration("1h30m"), absl::Minutes(90));
}

TEST(ParseDuration, RefusesWhatIsNoDuration) {
  for (const char* text :
       {"", "5", "s", "-1s", "1.5s", "1 s", "1h 30m", "30m1h", "1s1s", "1x", "1H", "s1"}) {
    EXPECT_EQ(ParseDuration(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseDuration, RefusesOverflow) {
  EXPECT_TRUE(ParseDuration("36500d").ok());
  EXPECT_FALSE(ParseDuration("36500d1us").ok());
  EXPECT_FALSE(ParseDuration("9223372036854775807s").ok());
  EXPECT_FALSE(ParseDuration("99999999999999999999s").ok());
}

TEST(FormatDuration, GivesWhatParseDurationReads) {
  for (const char* text : {"0", "250us", "1500ms", "30s", "1h30m", "29h", "7d", "36500d"}) {
    const absl::Duration duration = *ParseDuration(text);
    EXPECT_EQ(*ParseDuration(cohost::FormatDuration(duration)), duration) << text;
  }
  EXPECT_EQ(cohost::FormatDuration(absl::Hours(29)), "29h");
  EXPECT_EQ(cohost::FormatDuration(absl::Hours(48)), "2d");
  EXPECT_EQ(cohost::FormatDuration(absl::Milliseconds(1500)), "1s500ms");
}

TEST(ParseTimeOfDay, ReadsTwoDigitsEach) {
  EXPECT_EQ(ParseTimeOfDay("03:30")->minutes, 210);
  EXPECT_EQ(ParseTimeOfDay("23:59")->minutes, 1439);
  for (const char* text : {"", "3:30", "24:00", "12:60", "12-30", "1a:00", "03:30 "}) {
    EXPECT_FALSE(ParseTimeOfDay(text).ok()) << text;
  }
}

TEST(HoursOfDay, MasksEveryHourThatIsTouched) {
  EXPECT_EQ(ParseHoursOfDay("09:00-18:00")->HourMask(), 0x3fe00u);
  EXPECT_EQ(ParseHoursOfDay("09:59-10:01")->HourMask(), 0x600u);
  EXPECT_EQ(ParseHoursOfDay("22:00-02:00")->HourMask(), 0xc00003u);
  EXPECT_EQ(ParseHoursOfDay("05:00-05:00")->HourMask(), 0xffffffu);
}

TEST(HoursOfDay, RoundTripsAndRefuses) {
  EXPECT_EQ(FormatHoursOfDay(*ParseHoursOfDay("09:00-18:30")), "09:00-18:30");
  for (const char* text : {"", "09:00", "09:00-", "9:00-18:00", "09:00 18:00", "09:00-25:00"}) {
    EXPECT_FALSE(ParseHoursOfDay(text).ok()) << text;
  }
}

}  // namespace
}  // namespace cohost
