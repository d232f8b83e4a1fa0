// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/imported_deployment.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/config/deployment_loader.h"
#include "tests/supervisor/ctl/exchange/archive/sample_archive.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// This host's part, as its file says it.
Host Own() {
  return ParseDeployment(
             "version: 1\nhost: {runtime_dir: /run/b, state_dir: /var/lib/b, metrics: {listen: "
             "\"127.0.0.1:9999\"}}\n",
             "/etc/b.yaml")
      .deployment->host;
}

class ImportedDeploymentTest : public ::testing::Test {
 protected:
  ArchiveContents Contents(const std::string& deployment) const {
    ArchiveContents contents = *sample_.Read(sample_.Bytes(false));
    contents.deployment = deployment;
    return contents;
  }
  absl::StatusOr<Deployment> Adapt(const ArchiveContents& contents) const {
    return AdaptDeployment(contents, Own(), "/etc/imported", "shop.cohost");
  }

  const SampleArchive sample_;
};

TEST_F(ImportedDeploymentTest, HasItsServicesWithTheFilesOfThisHost) {
  const auto deployment = Adapt(Contents(sample_.deployment));
  ASSERT_TRUE(deployment.ok()) << deployment.status();
  ASSERT_EQ(deployment->services.size(), 3u);
  EXPECT_EQ(deployment->services[0].module, "/etc/imported/" + sample_.catalog + ".so");
  EXPECT_EQ(deployment->services[2].module, "/etc/imported/" + sample_.catalog + ".so");
  EXPECT_EQ(deployment->services[2].data_images.at("words"),
            "/etc/imported/" + sample_.words + ".img");
  EXPECT_EQ(deployment->services[2].settings.front().second, "${env:DB}");
}

TEST_F(ImportedDeploymentTest, TheHostsOwnPartStays) {
  const auto deployment = Adapt(
      Contents("version: 1\nhost: {runtime_dir: /run/a, state_dir: /var/lib/a, metrics: {listen: "
               "\"127.0.0.1:1111\"}}\n" +
               sample_.deployment.substr(sample_.deployment.find('\n') + 1)));
  ASSERT_TRUE(deployment.ok()) << deployment.status();
  EXPECT_EQ(deployment->host, Own());
}

TEST_F(ImportedDeploymentTest, SocketsBelowTheOtherRuntimeFolderMoveAlong) {
  ArchiveContents contents = Contents(
      "version: 1\nhost: {runtime_dir: /run/a}\nservices:\n  - name: catalog\n    module: /c.so\n"
      "    listen: [\"http+unix:/run/a/c.sock\", \"http+unix:/srv/c.sock\"]\n");
  contents.list.uses.resize(1);
  const auto deployment = Adapt(contents);
  ASSERT_TRUE(deployment.ok()) << deployment.status();
  EXPECT_EQ(deployment->services[0].listen[0].path, "/run/b/c.sock");
  EXPECT_EQ(deployment->services[0].listen[1].path, "/srv/c.sock");
}

TEST_F(ImportedDeploymentTest, ADeploymentWithErrorsIsRefusedWithItsPlace) {
  const auto deployment = Adapt(Contents("version: 1\nservicez: []\n"));
  EXPECT_EQ(deployment.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(deployment.status().message()),
              StartsWith("shop.cohost: deployment.yaml:2:1"));
}

TEST_F(ImportedDeploymentTest, AListThatDoesNotFitTheServicesIsRefused) {
  ArchiveContents contents = Contents(sample_.deployment);
  ASSERT_TRUE(Adapt(contents).ok());
  const auto refused = [&](const auto& change) {
    ArchiveContents other = contents;
    change(other.list.uses);
    return Adapt(other).status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](auto& uses) { uses.erase(uses.begin()); }));
  EXPECT_TRUE(refused([](auto& uses) { uses.pop_back(); }));
  EXPECT_TRUE(refused([](auto& uses) { uses[0].service = "other"; }));
  EXPECT_TRUE(refused([](auto& uses) { uses[3].data_image = "other"; }));
  EXPECT_TRUE(refused([&](auto& uses) { uses.push_back({"zz", sample_.catalog, "/z", ""}); }));
}

TEST_F(ImportedDeploymentTest, EveryMissingFileIsNamedWithWhoNeedsIt) {
  const ArchiveContents contents = Contents(sample_.deployment);
  const auto missing = MissingFiles(
      contents.list, [&](const ArchivedFile& file) { return file.name.hash == sample_.words; });
  ASSERT_EQ(missing.size(), 2u);
  const std::string all = missing[0] + "\n" + missing[1];
  EXPECT_THAT(all, HasSubstr(sample_.catalog + ".so, of catalog, search (/srv/catalog.so there)"));
  EXPECT_THAT(all, HasSubstr(sample_.orders + ".so, of orders (/srv/orders.so there)"));
}

TEST_F(ImportedDeploymentTest, WhatIsInTheArchiveIsNotMissing) {
  const ArchiveContents contents = *sample_.Read(sample_.Bytes(true));
  EXPECT_TRUE(MissingFiles(contents.list, [](const ArchivedFile&) { return false; }).empty());
}

}  // namespace
}  // namespace cohost::supervisor
