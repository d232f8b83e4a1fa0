// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/host_deployment.h"

#include "gtest/gtest.h"
#include "supervisor/config/deployment_loader.h"

namespace cohost::supervisor {
namespace {

const std::string kA(64, 'a');

TEST(HostDeployment, TheArchivesListIsWhatTheHostSays) {
  admin::v1::DeploymentPart whole;
  auto& file = *whole.add_files();
  file.set_hash(kA);
  file.set_kind("data image");
  file.set_size_bytes(7);
  auto& use = *whole.add_uses();
  use.set_service("catalog");
  use.set_data_image("words");
  use.set_hash(kA);
  use.set_source_path("/srv/words.img");
  const auto list = FileListOf(whole);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->files.front().name.ToString(), kA + ".img");
  EXPECT_EQ(list->files.front().size, 7u);
  EXPECT_EQ(HashesOf(*list), (FileHashes{{{"catalog", "words"}, kA}}));
}

TEST(HostDeployment, AKindOfALaterHostIsRefusedNotLeftOut) {
  admin::v1::DeploymentPart whole;
  whole.add_files()->set_kind("assembly");
  EXPECT_EQ(FileListOf(whole).status().code(), absl::StatusCode::kInternal);
}

TEST(HostDeployment, ThePortOffsetIsTakenBack) {
  admin::v1::DeploymentPart whole;
  whole.set_deployment(
      "version: 1\nservices:\n  - name: catalog\n    module: /c.so\n    listen: "
      "[\"http://127.0.0.1:9101\", \"http://127.0.0.1:0\", \"http+unix:/run/c.sock\"]\n");
  EXPECT_EQ(*TextWithoutOffset(whole), whole.deployment());
  whole.set_port_offset(1000);
  const auto text = TextWithoutOffset(whole);
  ASSERT_TRUE(text.ok()) << text.status();
  LoadOptions options;
  options.formatted = true;
  const auto loaded = ParseDeployment(*text, "text", options);
  ASSERT_TRUE(loaded.deployment);
  const auto& listen = loaded.deployment->services.front().listen;
  EXPECT_EQ(listen[0].port, 8101u);
  EXPECT_EQ(listen[1].port, 0u);
  EXPECT_EQ(listen[2].path, "/run/c.sock");
}

}  // namespace
}  // namespace cohost::supervisor
