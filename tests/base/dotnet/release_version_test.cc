// SPDX-License-Identifier: Apache-2.0
#include "base/dotnet/release_version.h"

#include <gtest/gtest.h>

#include <string>

namespace cohost {
namespace {

ReleaseVersion Version(const std::string& text) {
  const auto version = ReleaseVersion::Parse(text);
  EXPECT_TRUE(version.has_value()) << text;
  return version.value_or(ReleaseVersion());
}

TEST(ReleaseVersion, IsReadAndWritten) {
  for (const char* text : {"10.0.12", "0.0.0", "11.0.0-preview.3.25171.5", "10.0.100-rc-1"}) {
    EXPECT_EQ(Version(text).ToString(), text);
  }
  EXPECT_EQ(Version("10.0.1+abc"), Version("10.0.1"));
  for (const char* text : {"", "10", "10.0", "10.0.x", "10.0.1.2", "-1.0.0", " 10.0.1", "10.0.1-",
                           "10.0.1-a b", "99999999999.0.0", "10..1", "10.0.+1"}) {
    EXPECT_FALSE(ReleaseVersion::Parse(text).has_value()) << text;
  }
  EXPECT_FALSE(ReleaseVersion::Parse("1.0.0-" + std::string(1000, 'a')).has_value());
}

TEST(ReleaseVersion, IsOrderedAsASemanticVersion) {
  const char* const ordered[] = {"9.0.11",
                                 "10.0.0-preview.2",
                                 "10.0.0-preview.10",
                                 "10.0.0-preview.a",
                                 "10.0.0-rc.1",
                                 "10.0.0-rc.1.1",
                                 "10.0.0",
                                 "10.0.9",
                                 "10.0.12",
                                 "10.1.0"};
  for (size_t i = 0; i + 1 < std::size(ordered); ++i) {
    EXPECT_LT(Version(ordered[i]), Version(ordered[i + 1])) << ordered[i];
  }
}

}  // namespace
}  // namespace cohost
