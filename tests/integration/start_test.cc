// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/http_client.h"
#include "tests/support/test_host.h"

namespace cohost::testing {
namespace {

constexpr char kTwoServices[] = R"(
services:
  - {name: first, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: second, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"],
     load: {class: batch}}
)";

int StatusOf(const TestHost& host, const std::string& service) {
  auto client = HttpClient::Connect(host.Port(service));
  if (!client.ok()) return -1;
  const auto answer = client->Get("/");
  return answer.ok() ? answer->status : -2;
}

TEST(Start, EveryServiceAnswersWhenTheHostSaysThatItIsReady) {
  const auto host = TestHost::StartOrDie({kTwoServices, {}, {}});
  EXPECT_EQ(StatusOf(*host, "first"), 200);
  EXPECT_EQ(StatusOf(*host, "second"), 200);
  const auto status = host->Status();
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->services(), 2u);
  EXPECT_EQ(status->services_ready(), 2u);
  EXPECT_EQ(status->workers_ready(), 2u);
  EXPECT_TRUE(status->healthy());
}

TEST(Start, EndsAsAskedWithNothingLeft) {
  const auto host = TestHost::StartOrDie({kTwoServices, {}, {}});
  const pid_t supervisor = host->SupervisorPid();
  const auto workers = host->WorkerPids();
  ASSERT_EQ(workers.size(), 2u);
  const auto ended = host->Stop();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 0) << host->Log();
  EXPECT_NE(kill(supervisor, 0), 0);
  for (const auto& [slot, pid] : workers) EXPECT_NE(kill(pid, 0), 0) << slot;
  EXPECT_NE(access(host->admin_socket().c_str(), F_OK), 0) << "the admin socket was left behind";
}

TEST(Start, NothingStartsFromAnInvalidDeployment) {
  const auto host = TestHost::Start({R"(
services:
  - {name: first, runtime: native, modul: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: first, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:99999"]}
)",
                                     {},
                                     {}});
  ASSERT_FALSE(host.ok());
  const std::string message(host.status().message());
  EXPECT_NE(message.find("modul"), std::string::npos) << message;
  EXPECT_NE(message.find("99999"), std::string::npos) << message;
  EXPECT_NE(message.find("cohost.yaml:"), std::string::npos) << message;
}

TEST(Start, ASecondHostOnTheSameRuntimeFolderNamesTheFirst) {
  const auto first = TestHost::StartOrDie({kTwoServices, {}, {}});
  const auto second =
      TestHost::Start({kTwoServices, {"--runtime-dir", first->folder() / "run"}, {}});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(std::string(second.status().message()).find(absl::StrCat(first->keeper().pid())),
            std::string::npos)
      << second.status();
  EXPECT_EQ(StatusOf(*first, "first"), 200);
}

TEST(Start, AServiceThatCannotStartDoesNotStopItsNeighbours) {
  const auto host = TestHost::StartOrDie({R"(
services:
  - {name: good, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: bad, runtime: native, module: "${crash}", listen: ["http://127.0.0.1:0"],
     settings: {when: create, how: throw}}
)",
                                          {},
                                          {}});
  EXPECT_EQ(StatusOf(*host, "good"), 200);
  const auto bad = host->Service("bad");
  ASSERT_TRUE(bad.ok());
  EXPECT_EQ(bad->state(), v1::SERVICE_STATE_FAILED);
  EXPECT_FALSE(bad->reason().empty());
  EXPECT_FALSE(host->Status()->healthy());
}

TEST(Start, AModuleThatEndsTheProcessWhileLoadingFailsAlone) {
  const auto host = TestHost::StartOrDie({R"(
services:
  - {name: good, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: bad, runtime: native, module: "${constructor_exits}", listen: ["http://127.0.0.1:0"]}
)",
                                          {},
                                          {}});
  EXPECT_EQ(StatusOf(*host, "good"), 200);
  const auto bad = host->Service("bad");
  ASSERT_TRUE(bad.ok());
  EXPECT_EQ(bad->state(), v1::SERVICE_STATE_FAILED);
  EXPECT_NE(bad->reason().find("died while loading"), std::string::npos) << bad->reason();
}

}  // namespace
}  // namespace cohost::testing
