// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/options.h"

#include <string>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

absl::StatusOr<KeeperOptions> Parse(std::vector<const char*> arguments) {
  return ParseKeeperOptions(arguments);
}

TEST(KeeperOptions, PassesOnWhatIsTheSupervisorsAndKeepsTheRest) {
  const auto options =
      Parse({"shop.yaml", "--port-offset", "10", "--runtime-dir=/run/x", "--ready-fd=5",
             "--supervisor", "/s", "--worker=/w", "--drain-limit", "1m30s"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->ready_fd, 5);
  EXPECT_EQ(options->supervisor, "/s");
  EXPECT_EQ(options->drain_limit, absl::Seconds(90));
  EXPECT_EQ(options->passed_on,
            (std::vector<std::string>{"shop.yaml", "--port-offset=10", "--runtime-dir=/run/x",
                                      "--worker=/w", "--drain-limit=1m30s"}));
}

TEST(KeeperOptions, DefaultsWithoutArguments) {
  const auto options = Parse({});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->ready_fd, -1);
  EXPECT_EQ(options->drain_limit, absl::Seconds(60));
  EXPECT_TRUE(options->passed_on.empty());
}

TEST(KeeperOptions, UnknownOptionNamesTheNearest) {
  EXPECT_EQ(Parse({"--port-ofset=1"}).status().message(),
            "unknown option '--port-ofset'; the nearest is --port-offset");
  EXPECT_EQ(Parse({"-h"}).status().message(), "unknown option '-h'; see --help");
}

TEST(KeeperOptions, WrongValuesAreRefused) {
  for (const char* argument :
       {"--ready-fd=x", "--ready-fd=-1", "--port-offset=65536",
        "--port-offset=", "--drain-limit=60", "--config=", "--config", "--help=yes"}) {
    EXPECT_EQ(Parse({argument}).status().code(), absl::StatusCode::kInvalidArgument) << argument;
  }
  EXPECT_FALSE(Parse({"a.yaml", "b.yaml"}).ok());
}

TEST(KeeperOptions, HelpNamesEveryOption) {
  EXPECT_TRUE(Parse({"--help"})->help);
  EXPECT_TRUE(Parse({"--version"})->version);
  for (const char* option : {"--config", "--port-offset", "--runtime-dir", "--state-dir",
                             "--drain-limit", "--ready-fd", "--supervisor", "--worker"}) {
    EXPECT_NE(std::string(kKeeperHelp).find(option), std::string::npos) << option;
  }
}

}  // namespace
}  // namespace cohost::supervisor
