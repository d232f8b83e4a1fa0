// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/reader/value_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using absl::StatusCode;

YamlNode Scalar(const std::string& text) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.text = text;
  return node;
}

class CheckedTextTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Check(KeyType type, const std::string& text,
                                    const std::string& folder = "/folder") {
    const Key key{.name = "key", .type = type};
    return CheckedText(key, Scalar(text), folder, context_);
  }
  StatusCode CodeOf(KeyType type, const std::string& text) {
    return Check(type, text).status().code();
  }

  ConfigErrors errors_;
  ReadContext context_{errors_};
};

TEST(CheckedInteger, BothEndsOfTheRangeAreInside) {
  constexpr Key kKey = {.name = "key", .type = KeyType::kInteger, .least = "-2", .most = "10"};
  EXPECT_EQ(*CheckedInteger(kKey, Scalar("-2")), -2);
  EXPECT_EQ(*CheckedInteger(kKey, Scalar("10")), 10);
  for (const std::string outside :
       {"-3", "11", "9223372036854775807", "99999999999999999999", "-99999999999999999999"}) {
    EXPECT_EQ(CheckedInteger(kKey, Scalar(outside)).status().code(), StatusCode::kOutOfRange)
        << outside;
  }
  for (const std::string wrong : {"", "x", "1.5", "1e1", "+1", "0x1", "010", "1_0", "1 ", "--1"}) {
    EXPECT_EQ(CheckedInteger(kKey, Scalar(wrong)).status().code(), StatusCode::kInvalidArgument)
        << wrong;
  }
}

TEST(CheckedNumber, IsFiniteAndInRange) {
  constexpr Key kKey = {.name = "key", .type = KeyType::kNumber, .least = "0", .most = "1"};
  EXPECT_EQ(*CheckedNumber(kKey, Scalar("0.25")), 0.25);
  EXPECT_EQ(*CheckedNumber(kKey, Scalar("1")), 1);
  EXPECT_EQ(CheckedNumber(kKey, Scalar("1.0000001")).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(CheckedNumber(kKey, Scalar("-0.1")).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(CheckedNumber(kKey, Scalar("1" + std::string(400, '0'))).status().code(),
            StatusCode::kOutOfRange);
  for (const std::string wrong : {"nan", ".nan", "inf", ".5", "5.", "1,5", "1e-3"}) {
    EXPECT_EQ(CheckedNumber(kKey, Scalar(wrong)).status().code(), StatusCode::kInvalidArgument)
        << wrong;
  }
}

TEST(CheckedBytesAndDuration, UnitsAreComparedByWhatTheyMean) {
  constexpr Key kBytes = {.name = "key", .type = KeyType::kBytes, .least = "64Ki", .most = "1Gi"};
  EXPECT_EQ(*CheckedBytes(kBytes, Scalar("65536")), KiB(64));
  EXPECT_EQ(*CheckedBytes(kBytes, Scalar("1024Mi")), MiB(1024));
  EXPECT_EQ(CheckedBytes(kBytes, Scalar("65535")).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(CheckedBytes(kBytes, Scalar("1Ti")).status().code(), StatusCode::kOutOfRange);
  EXPECT_FALSE(CheckedBytes(kBytes, Scalar("99999999999999999999Ti")).ok());
  EXPECT_EQ(CheckedBytes(kBytes, Scalar("1G")).status().code(), StatusCode::kInvalidArgument);
  constexpr Key kWait = {.name = "key", .type = KeyType::kDuration, .least = "1s", .most = "1h"};
  EXPECT_EQ(*CheckedDuration(kWait, Scalar("60m")), absl::Hours(1));
  EXPECT_EQ(*CheckedDuration(kWait, Scalar("1000ms")), absl::Seconds(1));
  EXPECT_EQ(CheckedDuration(kWait, Scalar("999ms")).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(CheckedDuration(kWait, Scalar("5")).status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(CheckedDuration(kWait, Scalar("-5s")).ok());
}

TEST_F(CheckedTextTest, IsOneLineOfBoundedLength) {
  EXPECT_EQ(*Check(KeyType::kText, std::string(1024, 'x')), std::string(1024, 'x'));
  EXPECT_EQ(CodeOf(KeyType::kText, std::string(1025, 'x')), StatusCode::kOutOfRange);
  for (const std::string& text : {std::string(), std::string("a\nb"), std::string("a\x1b[2J"),
                                  std::string("a\0b", 3), std::string("\x7f"), std::string("\t")}) {
    EXPECT_EQ(CodeOf(KeyType::kText, text), StatusCode::kInvalidArgument);
  }
}

TEST_F(CheckedTextTest, NamesCannotBeOptionsOrPaths) {
  for (const std::string& good :
       {std::string("a"), std::string("_x.y-z"), std::string("0"), std::string(63, 'x')}) {
    EXPECT_TRUE(Check(KeyType::kName, good).ok()) << good;
  }
  for (const std::string& bad :
       {std::string("-a"), std::string(".."), std::string("a/b"), std::string("a b"),
        std::string("\xc3\xa9"), std::string(64, 'x'), std::string("$(x)")}) {
    EXPECT_EQ(CodeOf(KeyType::kName, bad), StatusCode::kInvalidArgument) << bad;
  }
}

TEST_F(CheckedTextTest, TargetsArePathsThatCanStandInARequestLine) {
  EXPECT_TRUE(Check(KeyType::kTarget, "/").ok());
  EXPECT_TRUE(Check(KeyType::kTarget, "/a?b=c%20d").ok());
  for (const std::string bad : {"a", "http://x/", "/a b", "/\xc3\xa9", "*"}) {
    EXPECT_EQ(CodeOf(KeyType::kTarget, bad), StatusCode::kInvalidArgument) << bad;
  }
}

TEST_F(CheckedTextTest, AFileMustBeThereAndRegular) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "module.so") << "x";
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("nowhere", (folder / "dangling").c_str()), 0);
  ASSERT_EQ(::symlink("module.so", (folder / "link").c_str()), 0);
  const auto check = [&](const std::string& path) {
    return Check(KeyType::kFile, path, folder.path());
  };
  EXPECT_EQ(*check("./module.so"), folder / "module.so");
  EXPECT_EQ(*check("link"), folder / "link") << "what a link names is its owner's matter";
  EXPECT_EQ(check("absent").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(check("dangling").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(check(".").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(check("pipe").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(check("module.so/x").ok());
  EXPECT_EQ(check(std::string(5000, 'x')).status().code(), StatusCode::kOutOfRange);
}

TEST_F(CheckedTextTest, ALoadSeesOneAnswerForOneName) {
  const testing::TemporaryFolder folder;
  const auto check = [&] { return Check(KeyType::kFile, "module.so", folder.path()); };
  EXPECT_FALSE(check().ok());
  std::ofstream(folder / "module.so") << "x";
  EXPECT_FALSE(check().ok()) << "as the services before it saw it";
  context_.regular_files.clear();
  EXPECT_TRUE(check().ok());
}

TEST_F(CheckedTextTest, UsersAndTheirGroupsMustExist) {
  EXPECT_TRUE(Check(KeyType::kUser, "root").ok());
  EXPECT_TRUE(Check(KeyType::kUserGroup, "root").ok());
  EXPECT_EQ(CodeOf(KeyType::kUser, "no-such-user"), StatusCode::kNotFound);
  EXPECT_EQ(CodeOf(KeyType::kUserGroup, "no-such-group"), StatusCode::kNotFound);
  EXPECT_EQ(CodeOf(KeyType::kUser, "0"), StatusCode::kNotFound);
}

TEST_F(CheckedTextTest, AFolderCanSpoilARelativePath) {
  EXPECT_FALSE(Check(KeyType::kFolder, "x", "/a\nb").ok());
  EXPECT_FALSE(Check(KeyType::kFolder, "x", "/\xff").ok());
  EXPECT_FALSE(Check(KeyType::kFolder, std::string(3000, 'x'), "/" + std::string(3000, 'y')).ok());
  EXPECT_EQ(*Check(KeyType::kFolder, "/x", "/\xff"), "/x") << "an absolute one has none of it";
}

TEST(ResolvePath, KeepsWhatALinkCouldChange) {
  EXPECT_EQ(ResolvePath("/etc/cohost", "modules/a.so"), "/etc/cohost/modules/a.so");
  EXPECT_EQ(ResolvePath("/etc/cohost", "/a.so"), "/a.so");
  EXPECT_EQ(ResolvePath("/etc//cohost/", ".//./a.so/."), "/etc/cohost/a.so");
  EXPECT_EQ(ResolvePath("/etc/cohost", "../a.so"), "/etc/cohost/../a.so");
  EXPECT_EQ(ResolvePath("/", "."), "/");
  EXPECT_EQ(ResolvePath("/etc", "..."), "/etc/...");
}

TEST(CheckChoice, KnowsChoicesReservedOnesAndSlips) {
  constexpr Key kKey = {.name = "class",
                        .type = KeyType::kChoice,
                        .choices = "steady|bursty",
                        .reserved_choices = "realtime"};
  EXPECT_TRUE(CheckChoice(kKey, Scalar("steady")).ok());
  EXPECT_EQ(CheckChoice(kKey, Scalar("realtime")).code(), StatusCode::kUnimplemented);
  const absl::Status slip = CheckChoice(kKey, Scalar("burtsy"));
  EXPECT_EQ(slip.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(slip.message()).find("did you mean 'bursty'"), std::string::npos);
  for (const std::string wrong : {"", "Steady", "steady|bursty", "|"}) {
    EXPECT_EQ(CheckChoice(kKey, Scalar(wrong)).code(), StatusCode::kInvalidArgument) << wrong;
  }
  EXPECT_LT(CheckChoice(kKey, Scalar(std::string(100'000, 'x'))).message().size(), 400U);
}

}  // namespace
}  // namespace cohost::supervisor
