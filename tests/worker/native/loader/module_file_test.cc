// SPDX-License-Identifier: Apache-2.0
#include "worker/native/loader/module_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

namespace cohost::worker::native {
namespace {

using ::testing::HasSubstr;

constexpr char kModule[] = "tests/worker/native/modules/plain_c.so";

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(ModuleFile, AGoodModuleIsGood) {
  const auto file = InspectModuleFile(kModule);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_FALSE(file->needs_static_tls);
}

TEST(ModuleFile, ReadsTheNeedForStaticThreadLocalStorage) {
  const auto file = InspectModuleFile("tests/worker/native/modules/odd_tls_200.so");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->needs_static_tls);
  EXPECT_GE(file->tls_bytes, 200u);
}

// The sizes of the case; all that lie inside what the program headers describe.
TEST(ModuleFile, MOD_01_ATruncatedModuleIsRefusedBeforeItIsMapped) {
  const std::string whole = Read(kModule);
  ASSERT_GT(whole.size(), 8192u);
  for (const size_t size :
       {size_t{0}, size_t{64}, size_t{512}, size_t{2000}, size_t{4096}, whole.size() / 2}) {
    const auto file = InspectModuleFile(Write("cut.so", whole.substr(0, size)));
    EXPECT_FALSE(file.ok()) << size;
    EXPECT_THAT(std::string(file.status().message()), HasSubstr("cut.so")) << size;
    EXPECT_THAT(std::string(file.status().message()), HasSubstr("cut off")) << size;
  }
}

TEST(ModuleFile, WhatIsNoSharedObjectIsRefused) {
  EXPECT_EQ(InspectModuleFile("/nowhere.so").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(InspectModuleFile(::testing::TempDir()).ok());
  EXPECT_FALSE(InspectModuleFile(Write("text.so", std::string(5000, 'x'))).ok());
  std::string bytes = Read(kModule);
  bytes[18] = 0x28;  // e_machine: a 32-bit ARM
  const auto other = InspectModuleFile(Write("arm.so", bytes));
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("another machine"));
}

TEST(ModuleFile, AFifoIsRefusedWithoutWaiting) {
  const std::string path = ::testing::TempDir() + "/fifo.so";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(InspectModuleFile(path).ok());
}

TEST(ModuleFile, HostileHeadersAreRefused) {
  const std::string whole = Read(kModule);
  for (const size_t at : {size_t{32}, size_t{39}, size_t{54}, size_t{56}, size_t{64 + 15}}) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(0xff);
    bytes[at + 1] = static_cast<char>(0xff);
    EXPECT_FALSE(InspectModuleFile(Write("hostile.so", bytes)).ok()) << at;
  }
}

}  // namespace
}  // namespace cohost::worker::native
