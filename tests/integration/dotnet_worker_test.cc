// SPDX-License-Identifier: Apache-2.0
//
// A real worker with the real managed shim; the test is in the supervisor's place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/http_client.h"
#include "tests/support/wait.h"
#include "tests/support/worker_peer.h"

namespace cohost::testing {
namespace {

using ::testing::HasSubstr;
using worker::v1::AssignRequest;
using worker::v1::AssignResponse;

constexpr char kApps[] = "tests/worker/dotnet/apps/apps";

// Skips, visibly, where the applications could not be built.
class DotnetWorker : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::filesystem::exists(std::string(kApps) + "/absent")) {
      GTEST_SKIP() << "no .NET SDK on this machine";
    }
    ASSERT_TRUE(worker_.Hello().ok()) << worker_.Log();
    ASSERT_TRUE(worker_.OpenChannel().ok()) << worker_.Log();
  }

  AssignRequest Application(uint64_t id, const std::string& application) {
    const std::string path = std::filesystem::absolute(std::string(kApps) + "/" + application +
                                                       "/" + application + ".dll");
    AssignRequest request = NativeService(id, application + std::to_string(id), path, id);
    request.set_runtime(v1::RUNTIME_DOTNET);
    return request;
  }

  // Assigns it with a listener of its own; its port.
  uint16_t Serve(const AssignRequest& request) {
    listeners_.push_back(ListenOnLoopback());
    EXPECT_TRUE(worker_.GiveListener(request.service_id(), listeners_.back().socket.get()).ok());
    const absl::StatusOr<AssignResponse> response = worker_.Assign(request);
    EXPECT_TRUE(response.ok()) << response.status() << worker_.Log();
    if (response.ok()) {
      EXPECT_EQ(response->state(), v1::SERVICE_STATE_READY) << response->reason() << worker_.Log();
    }
    return listeners_.back().port;
  }

  std::string Fetch(uint16_t port, const std::string& target) {
    absl::StatusOr<HttpClient> client = HttpClient::Connect(port);
    if (!client.ok()) return std::string(client.status().message());
    const auto answer = client->Get(target);
    return answer.ok() ? answer->body : std::string(answer.status().message());
  }

  WorkerPeer worker_;
  std::vector<LoopbackListener> listeners_;
};

TEST_F(DotnetWorker, ServesApplicationsSideBySide) {
  const uint16_t first = Serve(Application(1, "Minimal"));
  const uint16_t second = Serve(Application(2, "Mvc"));
  const uint16_t third = Serve(Application(3, "Minimal"));
  EXPECT_EQ(Fetch(first, "/"), "hello") << worker_.Log();
  EXPECT_EQ(Fetch(third, "/"), "hello") << worker_.Log();
  EXPECT_THAT(Fetch(first, "/host"), HasSubstr("HTTP/1.1"));
  EXPECT_FALSE(Fetch(second, "/").empty());
}

TEST_F(DotnetWorker, AnApplicationForItselfTakesTheWholeWorker) {
  AssignRequest solo = Application(1, "Minimal");
  solo.set_isolation(v1::ISOLATION_SOLO);
  const uint16_t port = Serve(solo);
  EXPECT_EQ(Fetch(port, "/"), "hello") << worker_.Log();
  EXPECT_THAT(Fetch(port, "/host"), HasSubstr("HTTP/1.1"));

  listeners_.push_back(ListenOnLoopback());
  ASSERT_TRUE(worker_.GiveListener(2, listeners_.back().socket.get()).ok());
  const absl::StatusOr<AssignResponse> second = worker_.Assign(Application(2, "Mvc"));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->state(), v1::SERVICE_STATE_FAILED);
  EXPECT_THAT(second->reason(), HasSubstr("Minimal.dll alone"));
  EXPECT_EQ(Fetch(port, "/"), "hello");
}

TEST_F(DotnetWorker, AnApplicationForItselfDoesNotJoinOthers) {
  const uint16_t port = Serve(Application(1, "Minimal"));
  AssignRequest solo = Application(2, "Mvc");
  solo.set_isolation(v1::ISOLATION_SOLO);
  listeners_.push_back(ListenOnLoopback());
  ASSERT_TRUE(worker_.GiveListener(2, listeners_.back().socket.get()).ok());
  const absl::StatusOr<AssignResponse> second = worker_.Assign(solo);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->state(), v1::SERVICE_STATE_FAILED);
  EXPECT_THAT(second->reason(), HasSubstr("needs a new worker"));
  EXPECT_EQ(Fetch(port, "/"), "hello");
}

}  // namespace
}  // namespace cohost::testing
