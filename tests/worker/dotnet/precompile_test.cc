// SPDX-License-Identifier: Apache-2.0
//
// An application of IL, deployed with .NET's real compiler, which is restored; skipped where it
// cannot be had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/admin_calls.h"
#include "tests/support/http_client.h"
#include "tests/support/wait.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class Precompile : public DotnetTest {
 protected:
  std::string Get(const std::string& target) const {
    auto client = HttpClient::Connect(host_->Port("service"));
    if (!client.ok()) return std::string(client.status().message());
    const absl::Status sent =
        client->Send(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n"));
    if (!sent.ok()) return std::string(sent.message());
    const auto answer = client->Receive();
    return answer.ok() ? answer->body : std::string(answer.status().message());
  }
  static bool Says(const admin::v1::DeployResponse& response, const std::string& text) {
    for (const std::string& remark : response.remarks()) {
      if (remark.find(text) != std::string::npos) return true;
    }
    return false;
  }

  std::unique_ptr<TestHost> host_;
};

TEST_F(Precompile, DeployGivesMachineCodeToWhatIsPublishedAsIl) {
  host_ = StartDotnetHost("services:\n" + ServiceLine({.name = "Minimal"}, "service"), {},
                          "dotnet: {precompile: restore}");
  ASSERT_TRUE(host_->WaitUntilReady()) << host_->Log();
  const auto il = host_->Service("service");
  ASSERT_TRUE(il.ok()) << il.status();
  const auto deployed = Deploy(*host_, "service", "", /*wait=*/true);
  ASSERT_TRUE(deployed.ok()) << deployed.status() << host_->Log();
  if (Says(*deployed, "no crossgen2")) GTEST_SKIP() << deployed->remarks(0);
  EXPECT_TRUE(deployed->changed());
  EXPECT_NE(deployed->module_hash(), deployed->module_hash_before());
  EXPECT_THAT(deployed->remarks(),
              Contains(HasSubstr("1 of 1 assemblies have machine code: 0 came with it, 1 were")));
  EXPECT_EQ(Get("/"), "hello");
  // The same again is nothing new.
  const auto again = Deploy(*host_, "service", "", /*wait=*/true);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->changed());
  // And nothing of it is undone by a reload.
  const auto reloaded = host_->Reload();
  ASSERT_TRUE(reloaded.ok()) << reloaded.status();
  EXPECT_EQ(reloaded->revision(), deployed->revision());
}

}  // namespace
}  // namespace cohost::testing
