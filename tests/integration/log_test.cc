// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/http_client.h"
#include "tests/support/http_load.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

namespace cohost::testing {
namespace {

// Half to stdout and half to stderr.
constexpr char kNoise[] = R"(
group_defaults: {IDENTITYlog: {size: 8Mi, files: 3}}
services:
  - {name: noise, runtime: native, module: "${noise}", listen: ["http://127.0.0.1:0"],
     settings: {bytes_per_second: 50000000}}
  - {name: echo, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
)";

std::string Deployment() {
  std::string text = kNoise;
  const std::string identity = geteuid() == 0 ? "identity: {user: nobody}, " : "";
  text.replace(text.find("IDENTITY"), 8, identity);
  return text;
}

int64_t Written(const TestHost& host) {
  auto client = HttpClient::Connect(host.Port("noise"));
  if (!client.ok()) return -1;
  const auto answer = client->Get("/written");
  int64_t written = -1;
  return answer.ok() && absl::SimpleAtoi(answer->body, &written) ? written : -1;
}

TEST(Log, AServiceThatWrites100MegabytesASecondIsNeverBlockedAndItsFilesStayBounded) {
  const auto host = TestHost::StartOrDie({Deployment(), {}, {}});
  HttpLoad load({{host->Port("echo")}, "/", 4, 200, true});
  const absl::Time begin = absl::Now();
  ASSERT_TRUE(Eventually([&] { return Written(*host) > 1'000'000'000; }, absl::Seconds(60)));
  // As fast as it wants, less what a busy machine takes.
  EXPECT_GT(1000 / absl::ToDoubleSeconds(absl::Now() - begin), 40) << "megabytes a second";
  const LoadReport report = load.Stop();
  EXPECT_EQ(report.failures(), 0u) << report.first_failure;
  size_t files = 0;
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(host->folder() / "state/logs")) {
    ++files;
    bytes += entry.file_size();
  }
  EXPECT_LE(files, 3u);
  // A file grows beyond its 8 MiB by what comes until the next look at it, a second later.
  EXPECT_LE(bytes, 600'000'000u);
}

}  // namespace
}  // namespace cohost::testing
