// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/address_text.h"

#include <gtest/gtest.h>

#include <string>

namespace cohost::supervisor {
namespace {

TEST(ParseAddress, MakesTheTextCanonical) {
  EXPECT_EQ(ParseAddress("http://127.0.0.1:8101")->text, "http://127.0.0.1:8101");
  EXPECT_EQ(ParseAddress("http://localhost:80")->Key(), "tcp:127.0.0.1:80");
  EXPECT_EQ(ParseAddress("http://[0:0::0:1]:65535")->Key(), "tcp:[::1]:65535");
  EXPECT_EQ(ParseAddress("http://0.0.0.0:0")->port, 0);
  const Address path = *ParseAddress("http+unix:/run/x.sock");
  EXPECT_EQ(path.kind, Address::Kind::kUnix);
  EXPECT_EQ(path.Key(), "unix:/run/x.sock");
  EXPECT_EQ(ParseAddress("http+unix:///run/x.sock")->text, "http+unix:/run/x.sock");
}

TEST(ParseAddress, RefusesWithTheReason) {
  const std::pair<const char*, const char*> refused[] = {
      {"https://127.0.0.1:1", "end TLS in front of Cohost"},
      {"127.0.0.1:1", "expected http://HOST:PORT"},
      {"", "expected http://HOST:PORT"},
      {"http://127.0.0.1", "the port is missing"},
      {"http://127.0.0.1:", "the port is not a decimal number"},
      {"http://127.0.0.1:x", "the port is not a decimal number"},
      {"http://127.0.0.1:-1", "the port is not a decimal number"},
      {"http://127.0.0.1:010", "leading zero"},
      {"http://127.0.0.1:65536", "out of range, allowed: 0 to 65535"},
      {"http://127.0.0.1:99999999999999999999", "the port is not a decimal number"},
      {"http://127.0.0.1:80/", "without path"},
      {"http://a@127.0.0.1:80", "without path or user"},
      {"http://example.org:80", "names are not looked up"},
      {"http://127.1:80", "names are not looked up"},
      {"http://:80", "no host"},
      {"http://::1:80", "in brackets"},
      {"http://[::1:80", "']' is missing"},
      {"http://[::1]x:80", "must follow ']'"},
      {"http://[::1]", "the port is missing"},
      {"http://[127.0.0.1]:80", "not a numeric IPv6"},
      {"http://[::ffff:127.0.0.1]:80", "write the IPv4 address itself"},
      {"http://[fe80::1%eth0]:80", "not a numeric IPv6"},
      {"http+unix:run/x", "the path must be absolute"},
      {"http+unix:", "the path must be absolute"},
      {"http+unix:/run/", "not a folder"},
  };
  for (const auto& [text, message] : refused) {
    const absl::Status status = ParseAddress(text).status();
    EXPECT_NE(status.message().find(message), absl::string_view::npos) << text << ": " << status;
  }
}

TEST(ParseAddress, SOK_03_LongPathsStateTheirLength) {
  for (const size_t length : {60u, 106u, 107u}) {
    EXPECT_TRUE(ParseAddress("http+unix:/" + std::string(length - 1, 'x')).ok()) << length;
  }
  EXPECT_NE(ParseAddress("http+unix:/" + std::string(107, 'x'))
                .status()
                .message()
                .find("at most 107 bytes, this one has 108"),
            absl::string_view::npos);
}

TEST(ParseEndpoint, TakesTheShortForm) {
  EXPECT_EQ(ParseEndpoint("127.0.0.1:9464")->text, "http://127.0.0.1:9464");
  EXPECT_EQ(ParseEndpoint("http://[::1]:9464")->text, "http://[::1]:9464");
  EXPECT_FALSE(ParseEndpoint("https://127.0.0.1:1").ok());
  EXPECT_FALSE(ParseEndpoint("unix:/x").ok());
}

TEST(ParseSocket, TakesUnixPathsOnly) {
  EXPECT_EQ(ParseSocket("unix:/run/a.sock")->path, "/run/a.sock");
  EXPECT_FALSE(ParseSocket("/run/a.sock").ok());
  EXPECT_FALSE(ParseSocket("127.0.0.1:1").ok());
}

}  // namespace
}  // namespace cohost::supervisor
