// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/earlier_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "supervisor/config/deployment_writer.h"
#include "tests/support/loop.h"

namespace cohost::supervisor {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::SizeIs;

Deployment WithService(const std::string& description) {
  Deployment deployment;
  deployment.host.admin.kind = Address::Kind::kUnix;
  deployment.host.admin.path = "/run/cohost/admin.sock";
  deployment.host.admin.text = "unix:/run/cohost/admin.sock";
  Service& service = deployment.services.emplace_back();
  service.name = "shop";
  service.description = description;
  service.module = "/srv/gone.so";
  Address& address = service.listen.emplace_back();
  address.text = "http://127.0.0.1:8101";
  address.host = "127.0.0.1";
  address.port = 8101;
  return deployment;
}

class EarlierVersionsTest : public ::testing::Test {
 protected:
  void Save(uint64_t number, const std::string& text, char module) {
    DeploymentChange change;
    change.revision.revision = number;
    change.revision.deployment = text;
    ServiceChange& service = change.services.emplace_back();
    service.service = "shop";
    service.revision = number;
    service.fingerprint = static_cast<uint64_t>(module);
    service.files.module = std::string(64, module);
    opened_.state->SaveDeployment(std::move(change), [](const absl::Status&) {});
  }
  template <typename T>
  absl::StatusOr<T> Await(const std::function<void(EarlierVersions::Done<T>)>& ask) {
    std::optional<absl::StatusOr<T>> answer;
    ask([&answer](absl::StatusOr<T> given) { answer = std::move(given); });
    EXPECT_FALSE(answer.has_value()) << "inside the call";
    EXPECT_TRUE(cohost::testing::RunUntil(loop_, [&] { return answer.has_value(); }));
    return answer.value_or(absl::DeadlineExceededError("never answered"));
  }
  absl::StatusOr<EarlierVersion> Find(uint64_t revision, char fingerprint) {
    return Await<EarlierVersion>([&](auto done) {
      versions_.Find("shop", revision, static_cast<uint64_t>(fingerprint), done);
    });
  }

  boost::asio::io_context loop_;
  State::Opened opened_ = State::Open({});
  EarlierVersions versions_{*opened_.state, loop_};
};

TEST_F(EarlierVersionsTest, FindsTheOneBeforeAndTheOneOfARevision) {
  Save(1, FormatDeployment(WithService("first")), '1');
  Save(2, FormatDeployment(WithService("second")), '2');
  Save(4, FormatDeployment(WithService("third")), '3');
  const auto before = Find(0, '3');
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->change.revision, 2u);
  EXPECT_EQ(before->service.description, "second");
  EXPECT_EQ(before->change.files.module, std::string(64, '2'));
  // Revision 3 changed nothing of it.
  EXPECT_EQ(Find(3, '3')->service.description, "second");
  EXPECT_EQ(Find(1, '3')->service.description, "first");
}

TEST_F(EarlierVersionsTest, SaysWhatIsNotKeptAndWhatCannotBeRead) {
  EXPECT_EQ(Find(0, '1').status().code(), absl::StatusCode::kNotFound);
  Save(1, "version: 99\n", '1');
  EXPECT_EQ(Find(0, '1').status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Find(1, '2').status().code(), absl::StatusCode::kFailedPrecondition);
  const auto read = [this](uint64_t revision) {
    return Await<EarlierDeployment>([&](auto done) { versions_.Read(revision, done); }).status();
  };
  EXPECT_EQ(read(1).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(read(2).code(), absl::StatusCode::kNotFound);
}

TEST_F(EarlierVersionsTest, ReadsADeploymentWithTheFilesItHad) {
  Save(1, FormatDeployment(WithService("first")), '1');
  Save(2, FormatDeployment(WithService("second")), '2');
  const auto earlier = Await<EarlierDeployment>([&](auto done) { versions_.Read(1, done); });
  ASSERT_TRUE(earlier.ok()) << earlier.status();
  EXPECT_THAT(earlier->deployment.services, SizeIs(1));
  ASSERT_THAT(earlier->files.services, Contains(Key("shop")));
  EXPECT_EQ(earlier->files.services.at("shop").files.module, std::string(64, '1'));
  EXPECT_FALSE(earlier->files.services.at("shop").replaced.has_value());
  EXPECT_FALSE(earlier->files.goes_on);
}

}  // namespace
}  // namespace cohost::supervisor
