// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/key_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/signing/key_texts.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

std::string Write(const std::string& path, const std::string& content, mode_t mode) {
  std::ofstream(path, std::ios::trunc) << content;
  EXPECT_EQ(chmod(path.c_str(), mode), 0);
  return path;
}

TEST(KeyFile, ANewKeyIsOneForItsOwnerAndOneForAll) {
  const TemporaryFolder folder;
  const auto key = WriteNewKey(folder / "release");
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(ModeOf(folder / "release.key"), 0600);
  EXPECT_EQ(ModeOf(folder / "release.pub"), 0644);
  EXPECT_EQ(ReadPublicKey(folder / "release.pub").value(), *key);
  EXPECT_EQ(ReadPrivateKey(folder / "release.key").value().public_key(), *key);
}

TEST(KeyFile, AKeyIsNeverOverwritten) {
  for (const char* taken : {"release.key", "release.pub"}) {
    const TemporaryFolder folder;
    std::ofstream(folder / taken) << "precious";
    EXPECT_EQ(WriteNewKey(folder / "release").status().code(), absl::StatusCode::kAlreadyExists);
    std::string content;
    std::getline(std::ifstream(folder / taken), content);
    EXPECT_EQ(content, "precious");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()),
                            std::filesystem::directory_iterator()),
              1);
  }
  const TemporaryFolder folder;
  // Nor what a link names.
  ASSERT_EQ(symlink((folder / "elsewhere").c_str(), (folder / "release.key").c_str()), 0);
  EXPECT_EQ(WriteNewKey(folder / "release").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

TEST(KeyFile, APrivateKeyThatOthersMayReadIsRefusedWithTheRemedy) {
  const TemporaryFolder folder;
  for (const mode_t mode : {0644, 0640, 0604, 0601, 0620}) {
    const std::string path = Write(folder / "a.key", kRfcPrivateKey, mode);
    const auto key = ReadPrivateKey(path);
    EXPECT_EQ(key.status().code(), absl::StatusCode::kFailedPrecondition) << std::oct << mode;
    EXPECT_THAT(std::string(key.status().message()), HasSubstr("chmod 600 " + path));
  }
  for (const mode_t mode : {0600, 0400}) {
    EXPECT_TRUE(ReadPrivateKey(Write(folder / "a.key", kRfcPrivateKey, mode)).ok());
  }
}

TEST(KeyFile, APublicKeyThatOthersMayWriteIsRefusedWithTheRemedy) {
  const TemporaryFolder folder;
  const std::string path = Write(folder / "a.pub", kRfcPublicKey, 0666);
  const auto key = ReadPublicKey(path);
  EXPECT_EQ(key.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(key.status().message()), HasSubstr("chmod o-w " + path));
  EXPECT_TRUE(ReadPublicKey(Write(path, kRfcPublicKey, 0664)).ok());
}

TEST(KeyFile, WhatIsNoKeyIsNamedAndNotReadWithoutEnd) {
  const TemporaryFolder folder;
  EXPECT_EQ(ReadPublicKey(folder / "missing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadPublicKey(folder.path()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadPublicKey("/dev/zero").status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(ReadPrivateKey(folder / "fifo").status().code(), absl::StatusCode::kFailedPrecondition);
  const std::string large =
      Write(folder / "large", std::string(20'000, '\n') + kRfcPublicKey, 0600);
  EXPECT_EQ(ReadPublicKey(large).status().code(), absl::StatusCode::kResourceExhausted);
  const std::string empty = Write(folder / "empty", "", 0600);
  const auto key = ReadPublicKey(empty);
  EXPECT_EQ(key.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(key.status().message()), HasSubstr(empty));
}

}  // namespace
}  // namespace cohost::supervisor
