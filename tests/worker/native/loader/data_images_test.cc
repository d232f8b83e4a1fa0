// SPDX-License-Identifier: Apache-2.0
#include "worker/native/loader/data_images.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

namespace cohost::worker::native {
namespace {

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(DataImages, MapsAFileOnce) {
  DataImages images;
  const std::string path = Write("image", "content");
  const auto first = images.Map(path);
  const auto second = images.Map(path);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, "content");
  EXPECT_EQ(first->data(), second->data());
}

TEST(DataImages, WhatIsNoFileWithContentIsRefused) {
  DataImages images;
  EXPECT_EQ(images.Map("/nowhere").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(images.Map(Write("empty", "")).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(images.Map(::testing::TempDir()).ok());
  const std::string fifo = ::testing::TempDir() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(images.Map(fifo).ok());
}

}  // namespace
}  // namespace cohost::worker::native
