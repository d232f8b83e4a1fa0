// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/deployment_export.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "supervisor/config/deployment_writer.h"
#include "supervisor/modules/signing/signature_store.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using cohost::testing::TemporaryFolder;

const std::string kModule(64, 'b');
const std::string kImage(64, 'a');

// Two services with one module; the first has an image too, and a secret, resolved.
PreparedDeployment Shop() {
  PreparedDeployment prepared;
  for (const char* name : {"catalog", "orders"}) {
    PreparedService service;
    service.service.name = name;
    service.service.module = std::string("/srv/") + name + ".so";
    service.service.settings = {{"db:password", "${env:DB}"}};
    service.settings = {{"db:password", "hunter2"}};
    service.module = {kModule, "/store/" + kModule + ".so", Bytes{10}, StoredKind::kModule, {"w"}};
    if (prepared.services.empty()) {
      service.service.data_images = {{"words", "/srv/words.img"}};
      service.data_images["words"] = {
          kImage, "/store/" + kImage + ".img", Bytes{20}, StoredKind::kDataImage, {}};
    }
    prepared.deployment.services.push_back(service.service);
    prepared.services.emplace(name, std::move(service));
  }
  return prepared;
}

TEST(DeploymentExport, ApplicationsAreNotHeldAndSaidSo) {
  PreparedDeployment shop = Shop();
  EXPECT_TRUE(CheckExportable(shop).ok());
  shop.services.at("orders").service.runtime = Runtime::kDotnet;
  const absl::Status status = CheckExportable(shop);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("'orders'"), absl::string_view::npos);
}

TEST(DeploymentExport, NamesEveryFileOnceAndEveryUse) {
  const PreparedDeployment shop = Shop();
  const DeploymentExport exported = DescribeDeployment(shop, "text");
  EXPECT_EQ(exported.text, "text");
  ASSERT_EQ(exported.files.size(), 2u);
  EXPECT_EQ(exported.files[0].file.hash, kImage);
  EXPECT_EQ(exported.files[0].file.kind, StoredKind::kDataImage);
  EXPECT_EQ(exported.files[1].file.hash, kModule);
  EXPECT_EQ(exported.files[1].file.size.count, 10u);
  ASSERT_EQ(exported.uses.size(), 3u);
  EXPECT_EQ(exported.uses[0].service, "catalog");
  EXPECT_EQ(exported.uses[0].data_image, "");
  EXPECT_EQ(exported.uses[0].source, "/srv/catalog.so");
  EXPECT_EQ(exported.uses[1].data_image, "words");
  EXPECT_EQ(exported.uses[1].hash, kImage);
  EXPECT_EQ(exported.uses[2].service, "orders");
}

TEST(DeploymentExport, HasReferencesAndNoSecrets) {
  const PreparedDeployment shop = Shop();
  const DeploymentExport exported = DescribeDeployment(shop, FormatDeployment(shop.deployment));
  EXPECT_NE(exported.text.find("${env:DB}"), std::string::npos);
  EXPECT_EQ(exported.text.find("hunter2"), std::string::npos);
}

TEST(DeploymentExport, BringsTheSignaturesThatTheStoreKeeps) {
  const TemporaryFolder store;
  const std::vector<Signature> signatures = {{std::string(64, 'f'), std::string(64, 's')}};
  ASSERT_TRUE(SignatureStore(store.path()).Keep(kModule, signatures).ok());
  DeploymentExport exported = DescribeDeployment(Shop(), "");
  ASSERT_TRUE(AddSignatures(store.path(), exported).ok());
  EXPECT_EQ(exported.files[0].signatures, "");
  const auto read = ParseSignatures(exported.files[1].signatures);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, signatures);
}

TEST(DeploymentExport, SaysWhichSignaturesCannotBeRead) {
  const TemporaryFolder store;
  std::filesystem::create_directory(store / "signatures");
  std::ofstream(store / ("signatures/" + kModule + ".sig")) << "torn";
  DeploymentExport exported = DescribeDeployment(Shop(), "");
  EXPECT_EQ(AddSignatures(store.path(), exported).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace cohost::supervisor
