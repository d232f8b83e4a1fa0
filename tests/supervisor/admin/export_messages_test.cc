// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/export_messages.h"

#include <string>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

// All parts as one.
admin::v1::DeploymentPart Join(const std::vector<admin::v1::DeploymentPart>& parts) {
  admin::v1::DeploymentPart whole;
  for (const auto& part : parts) {
    const std::string text = whole.deployment() + part.deployment();
    whole.MergeFrom(part);
    whole.set_deployment(text);
  }
  return whole;
}

TEST(ExportMessages, ASmallDeploymentIsOnePart) {
  DeploymentExport exported;
  exported.revision = 5;
  exported.port_offset = 100;
  exported.text = "version: 1\n";
  exported.files.push_back(
      {{std::string(64, 'a'), "/s/a.so", Bytes{9}, StoredKind::kModule, {}}, "signed"});
  exported.uses.push_back({"catalog", "", std::string(64, 'a'), "/srv/catalog.so"});
  const auto parts = DeploymentParts(exported);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].revision(), 5u);
  EXPECT_EQ(parts[0].port_offset(), 100u);
  EXPECT_EQ(parts[0].deployment(), "version: 1\n");
  ASSERT_EQ(parts[0].files_size(), 1);
  EXPECT_EQ(parts[0].files(0).kind(), "module");
  EXPECT_EQ(parts[0].files(0).size_bytes(), 9u);
  EXPECT_EQ(parts[0].files(0).signatures(), "signed");
  ASSERT_EQ(parts[0].uses_size(), 1);
  EXPECT_EQ(parts[0].uses(0).source_path(), "/srv/catalog.so");
}

TEST(ExportMessages, PartsOfALargeOneAreSmallAndJoinToAllOfIt) {
  DeploymentExport exported;
  for (int i = 0; i < 2'000; ++i) {
    const std::string number = std::to_string(i);
    exported.text += number + std::string(2'000, '#') + "\n";
    exported.files.push_back(
        {{number, std::string(3'000, '/'), {}, StoredKind::kModule, {}}, std::string(1'000, 's')});
    exported.uses.push_back({number, "", number, std::string(4'000, '/')});
  }
  const auto parts = DeploymentParts(exported);
  for (const auto& part : parts) EXPECT_LT(part.ByteSizeLong(), size_t{3} << 20);
  const auto whole = Join(parts);
  EXPECT_EQ(whole.deployment(), exported.text);
  EXPECT_EQ(whole.files_size(), 2'000);
  EXPECT_EQ(whole.uses_size(), 2'000);
  EXPECT_EQ(whole.uses(1'999).service(), "1999");
}

TEST(ExportMessages, WhatIsNoUtf8DoesNotSpoilThePart) {
  DeploymentExport exported;
  exported.uses.push_back({"catalog", "", "hash", "/srv/\xff.so"});
  const auto parts = DeploymentParts(exported);
  std::string bytes;
  ASSERT_TRUE(parts[0].SerializeToString(&bytes));
  admin::v1::DeploymentPart read;
  EXPECT_TRUE(read.ParseFromString(bytes));
}

}  // namespace
}  // namespace cohost::supervisor
