// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/memory_messages.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/fakes/host_control.h"

namespace cohost::supervisor {
namespace {

TEST(MemoryMessages, AModuleSaysWhoUsesItSinceWhenAndWhatItSaves) {
  const HostSnapshot host = SampleHost();
  const admin::v1::Module module = ModuleMessage(host.modules[0], host);
  EXPECT_EQ(module.services_size(), 5);
  EXPECT_EQ(module.workers(), 4u);
  EXPECT_EQ(module.published().seconds(), 1767323045 - 50 * 3600);
  // Five copies of 340,000 bytes less the one that is there.
  EXPECT_EQ(module.saved_bytes(), 4 * 340'000u);
  const admin::v1::Module image = ModuleMessage(host.modules[1], host);
  EXPECT_EQ(image.workers(), 1u);
  EXPECT_TRUE(image.has_saved_bytes());
  EXPECT_EQ(image.saved_bytes(), 0u) << "measured, and nothing";
}

TEST(MemoryMessages, WhatIsNotKnownIsNotSet) {
  HostSnapshot host = SampleHost();
  host.module_memory = nullptr;
  host.modules[0].published = {};
  host.workers[0].pid = 0;
  const admin::v1::Module module = ModuleMessage(host.modules[0], host);
  EXPECT_FALSE(module.has_saved_bytes());
  EXPECT_FALSE(module.has_published());
  EXPECT_EQ(module.workers(), 3u) << "a worker without a process is none";
  admin::v1::Memory memory;
  AddModuleMemory(host, memory);
  EXPECT_EQ(memory.ByteSizeLong(), 0u);
}

TEST(MemoryMessages, PartsOfServicesAndUnusedOnesAreTheWhole) {
  HostSnapshot host = SampleHost();
  host.modules[0].source_path = "no \xff text";
  admin::v1::Memory memory = MemoryMessage(host);
  EXPECT_EQ(memory.module_memory_size(), 0);
  AddModuleMemory(host, memory);
  EXPECT_EQ(memory.processes_size(), 6);
  ASSERT_EQ(memory.module_memory_size(), 2);
  const admin::v1::ModuleMemory& module = memory.module_memory(0);
  EXPECT_EQ(module.hash(), std::string(64, '3'));
  EXPECT_EQ(module.source_path(), "no \xef\xbf\xbd text");
  EXPECT_EQ(module.kind(), "module");
  EXPECT_EQ(module.processes(), 4u);
  EXPECT_EQ(module.services(), 5u);
  EXPECT_EQ(module.bytes().pss_bytes(), 4 * (113'000u + 8'000));
  EXPECT_EQ(module.bytes().shared_bytes(), 4 * 340'000u);
  EXPECT_EQ(module.bytes().relocated_bytes(), 4 * 28'000u);
  EXPECT_EQ(module.bytes().anonymous_bytes(), 4 * 8'000u);
  EXPECT_EQ(memory.module_memory(1).bytes().private_clean_bytes(), 2'500'000u);
  uint64_t parts = 0;
  for (const auto& service : memory.service_memory()) parts += service.bytes().pss_bytes();
  uint64_t whole = 0;
  for (const auto& each : memory.module_memory()) {
    whole += each.bytes().pss_bytes();
    parts += each.unused().pss_bytes();
  }
  EXPECT_EQ(parts, whole);
  ASSERT_EQ(memory.service_memory_size(), 5);
  EXPECT_EQ(memory.service_memory(1).service(), "currency");
  EXPECT_EQ(memory.service_memory(1).modules(), 2u);
  EXPECT_EQ(memory.saved_bytes(), 4 * 340'000u);
  EXPECT_EQ(memory.modules_measured().seconds(), 1767323045 + 60);
}

// A worker of the revision before maps a file that the store does not list any more.
TEST(MemoryMessages, AModuleOfNoListedFileHasItsHashAlone) {
  HostSnapshot host = SampleHost();
  host.modules.clear();
  admin::v1::Memory memory;
  AddModuleMemory(host, memory);
  ASSERT_EQ(memory.module_memory_size(), 2);
  EXPECT_EQ(memory.module_memory(0).hash(), std::string(64, '3'));
  EXPECT_EQ(memory.module_memory(0).source_path(), "");
  EXPECT_EQ(memory.module_memory(0).kind(), "");
}

TEST(MemoryMessages, ASampleThatFailedSaysWhy) {
  UnsharedMemory memory;
  memory.samples = {{"a", absl::OkStatus(), 1, 2}, {"b", absl::AbortedError("no \xff text"), 0, 0}};
  memory.services = 3;
  memory.workers = 4;
  memory.present = 5;
  memory.own = 6;
  memory.files_once = 7;
  memory.files_copied = 8;
  const admin::v1::UnsharedMemory message = UnsharedMessage(memory);
  ASSERT_EQ(message.samples_size(), 2);
  EXPECT_EQ(message.samples(0).own_bytes(), 1u);
  EXPECT_EQ(message.samples(0).file_bytes(), 2u);
  EXPECT_EQ(message.samples(0).failure(), "");
  EXPECT_EQ(message.samples(1).failure(), "no \xef\xbf\xbd text");
  EXPECT_EQ(message.services(), 3u);
  EXPECT_EQ(message.workers(), 4u);
  EXPECT_EQ(message.present_bytes(), 5u);
  EXPECT_EQ(message.own_bytes(), 6u);
  EXPECT_EQ(message.files_once_bytes(), 7u);
  EXPECT_EQ(message.files_copied_bytes(), 8u);
}

}  // namespace
}  // namespace cohost::supervisor
