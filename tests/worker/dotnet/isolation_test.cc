// SPDX-License-Identifier: Apache-2.0
//
// Which applications may be in one worker, and which has it for itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/http_client.h"
#include "tests/worker/dotnet/application_worker.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::testing {
namespace {

using ::testing::HasSubstr;

void MakeSolo(worker::v1::AssignRequest& request) { request.set_isolation(v1::ISOLATION_SOLO); }

class Isolation : public DotnetTest {
 protected:
  void SetUp() override {
    DotnetTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(worker_.Start().ok()) << worker_.peer().Log();
  }
  // Its body, or why there was none.
  std::string Get(const std::string& service, const std::string& target) {
    auto client = HttpClient::Connect(worker_.Port(service));
    if (!client.ok()) return std::string(client.status().message());
    const auto answer = client->Get(target);
    return answer.ok() ? answer->body : std::string(answer.status().message());
  }

  ApplicationWorker worker_;
};

TEST_F(Isolation, ApplicationsServeSideBySide) {
  for (const char* service : {"first", "third"}) {
    ASSERT_TRUE(worker_.Add({.name = "Minimal"}, service).ok()) << worker_.peer().Log();
  }
  ASSERT_TRUE(worker_.Add({.name = "Mvc"}, "second").ok()) << worker_.peer().Log();
  EXPECT_EQ(Get("first", "/"), "hello") << worker_.peer().Log();
  EXPECT_EQ(Get("third", "/"), "hello") << worker_.peer().Log();
  EXPECT_THAT(Get("first", "/host"), HasSubstr("HTTP/1.1"));
  EXPECT_FALSE(Get("second", "/").empty());
}

TEST_F(Isolation, AnApplicationForItselfTakesTheWholeWorker) {
  ASSERT_TRUE(worker_.Add({.name = "Minimal"}, "", MakeSolo).ok()) << worker_.peer().Log();
  EXPECT_EQ(Get("Minimal", "/"), "hello") << worker_.peer().Log();
  EXPECT_THAT(Get("Minimal", "/host"), HasSubstr("HTTP/1.1"));

  const absl::Status second = worker_.Add({.name = "Mvc"});
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.message()), HasSubstr("Minimal.dll alone"));
  EXPECT_EQ(Get("Minimal", "/"), "hello");
}

TEST_F(Isolation, AnApplicationForItselfDoesNotJoinOthers) {
  ASSERT_TRUE(worker_.Add({.name = "Minimal"}).ok()) << worker_.peer().Log();
  const absl::Status second = worker_.Add({.name = "Mvc"}, "", MakeSolo);
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.message()), HasSubstr("needs a new worker"));
  EXPECT_EQ(Get("Minimal", "/"), "hello");
}

}  // namespace
}  // namespace cohost::testing
