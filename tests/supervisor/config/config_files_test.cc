// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/config_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/supervisor/config/config_fixture.h"

namespace cohost::supervisor {
namespace {

class ConfigFilesTest : public ConfigTest {
 protected:
  ConfigFiles files_{KiB(4), KiB(6)};
};

TEST_F(ConfigFilesTest, NoticesWhatChangesWhileTheOthersAreRead) {
  const std::string written = Write("written", "1"), replaced = Write("replaced", "1"),
                    removed = Write("removed", "1"), same = Write("same", "1");
  for (const std::string& path : {written, replaced, removed, same}) {
    ASSERT_TRUE(files_.Read(path).ok());
  }
  EXPECT_TRUE(files_.Changed().empty());
  Write("written", "22");
  std::filesystem::rename(Write("new", "1"), replaced);
  std::filesystem::remove(removed);
  EXPECT_EQ(files_.Changed(), (std::vector<std::string>{written, replaced, removed}));
}

TEST_F(ConfigFilesTest, SizesAreLimitedEachAndTogether) {
  EXPECT_EQ(files_.Read(Write("large", std::string(4097, 'x'))).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(files_.Read(Write("a", std::string(4096, 'x'))).ok());
  const absl::Status status = files_.Read(Write("b", std::string(4096, 'x'))).status();
  EXPECT_NE(status.message().find("all files together are longer than 6Ki"),
            absl::string_view::npos);
}

using CFG_03_Files = ConfigTest;

TEST_F(CFG_03_Files, WhatIsNoFileIsAnErrorThatNamesIt) {
  const std::string fifo = folder() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const std::pair<std::string, const char*> refused[] = {
      {folder(), "is a directory"},
      {fifo, "is not a regular file"},
      {"/dev/zero", "is not a regular file"},
      {folder() + "/none", "No such file or directory"},
  };
  for (const auto& [path, message] : refused) {
    const LoadResult result = LoadDeployment(path);
    ExpectOnly(result, 0, 0, "", message);
    EXPECT_EQ(result.errors[0].file, path);
  }
}

TEST_F(CFG_03_Files, AnUnreadableFileIsAnError) {
  const std::string path = Write("secret.yaml", "version: 1\n");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  // Root may read everything: then the file is read.
  const LoadResult result = LoadDeployment(path);
  if (geteuid() == 0) {
    EXPECT_TRUE(result.deployment.has_value());
  } else {
    ExpectOnly(result, 0, 0, "", "Permission denied");
  }
}

TEST_F(CFG_03_Files, EmptyFilesSayNothing) {
  for (const char* text : {"", "# a comment\n", "---\n"}) {
    ExpectOnly(LoadText(text), 1, 1, "", "the file says nothing");
  }
  ExpectOnly(LoadText("just text\n"), 1, 1, "", "expected a map of keys, not text");
  ExpectOnly(LoadText("- a\n"), 1, 1, "", "expected a map of keys, not a list");
}

TEST_F(CFG_03_Files, KeysWithoutAValueAndMissingKeys) {
  const LoadResult result = LoadText("host:\nservices:\n- name:\n  listen: {}\n");
  ExpectError(result, 1, 1, "", "key 'version' is missing");
  ExpectError(result, 1, 1, "host", "has no value");
  ExpectError(result, 3, 3, "services[0].name", "has no value");
  ExpectError(result, 3, 3, "services[0]", "key 'module' is missing");
  ExpectError(result, 4, 11, "services[0].listen", "expected a list, not a map");
  EXPECT_EQ(result.errors.size(), 5u) << AllErrors(result);
}

TEST_F(CFG_03_Files, ByteOrderMarksAndWindowsLineEndsAreFine) {
  const LoadResult result = LoadText(
      "\xef\xbb\xbfversion: 1\r\nservices:\r\n- name: a\r\n  module: m.so\r\n  listen:\r\n  - "
      "http://127.0.0.1:1\r\n");
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  EXPECT_EQ(result.deployment->services[0].listen[0].port, 1);
}

TEST_F(CFG_03_Files, ErrorsRenderWithFileLineColumnAndKey) {
  const LoadResult result = LoadText(OneService("  overlap: on\n"));
  ASSERT_EQ(result.errors.size(), 1u);
  EXPECT_EQ(
      Render(result.errors[0]),
      folder() + "/d.yaml:6:12: services[0].overlap: expected true or false, not 'on': write true");
}

}  // namespace
}  // namespace cohost::supervisor
