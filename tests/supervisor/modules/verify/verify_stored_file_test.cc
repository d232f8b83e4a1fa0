// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/verify_stored_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <random>

#include "base/format/data_image_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/module_files.h"
#include "tests/supervisor/modules/verify/assembly_bytes.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr StoredKind kChecked[] = {StoredKind::kModule, StoredKind::kDataImage,
                                   StoredKind::kAssembly};

std::string Image() {
  DataImageBuilder builder("sample");
  for (int i = 0; i < 500; ++i) builder.Add("key " + std::to_string(i), std::string(20, 'v'));
  return *builder.Build();
}

// A good file of that kind, long enough for every cut of the case.
std::string Good(StoredKind kind) {
  if (kind == StoredKind::kModule) return ModuleContent("plain_module.so");
  if (kind == StoredKind::kDataImage) return Image();
  AssemblyBytes bytes = AssemblyBytes::ReadyToRun();
  bytes.references.assign(300, {"System.Runtime", {8, 0, 0, 0}});
  return bytes.Build();
}

absl::Status Verify(const std::string& content, StoredKind kind) {
  return VerifyStoredFile(MemoryFile(content).get(), kind).status();
}

void ExpectRefused(const absl::Status& status, StoredKind kind) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << StoredKindName(kind);
  // A reason, then what to do.
  EXPECT_THAT(std::string(status.message()), ::testing::AnyOf(HasSubstr("; "), HasSubstr(": ")));
}

TEST(VerifyStoredFile, AcceptsGoodFilesOfEachKind) {
  for (const StoredKind kind : kChecked) {
    const absl::Status status = Verify(Good(kind), kind);
    EXPECT_TRUE(status.ok()) << StoredKindName(kind) << ": " << status;
  }
}

TEST(VerifyStoredFile, ReportsWhatItFound) {
  const auto module = VerifyStoredFile(MemoryFile(ModuleContent("static_tls_module.so")).get(),
                                       StoredKind::kModule);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(module->warnings, ElementsAre(HasSubstr("static thread-local storage")));
  ASSERT_TRUE(module->relocation_cost.has_value());
  EXPECT_GT(module->relocation_cost->loaded.count, 0u);
  EXPECT_FALSE(module->assembly.has_value());
  const auto assembly =
      VerifyStoredFile(MemoryFile(Good(StoredKind::kAssembly)).get(), StoredKind::kAssembly);
  ASSERT_TRUE(assembly.ok()) << assembly.status();
  ASSERT_TRUE(assembly->assembly.has_value());
  EXPECT_EQ(assembly->assembly->name.name, "Sample");
  EXPECT_FALSE(assembly->relocation_cost.has_value());
}

TEST(VerifyStoredFile, FilesAndProgramsMayBeAnything) {
  for (const StoredKind kind : {StoredKind::kFile, StoredKind::kProgram}) {
    const auto report = VerifyStoredFile(MemoryFile("anything").get(), kind);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_THAT(report->warnings, IsEmpty());
  }
}

TEST(VerifyStoredFile, AFileOfOneKindIsNoneOfAnother) {
  for (const StoredKind kind : kChecked) {
    for (const StoredKind other : kChecked) {
      if (kind != other) ExpectRefused(Verify(Good(kind), other), other);
    }
  }
}

TEST(VerifyStoredFile, MOD_01_RefusesFilesThatAreCut) {
  for (const StoredKind kind : kChecked) {
    const std::string good = Good(kind);
    ASSERT_GT(good.size(), 4096u) << StoredKindName(kind);
    for (const size_t length : {size_t{0}, size_t{64}, size_t{512}, size_t{2000}, size_t{4096},
                                good.size() / 2, good.size() - 1}) {
      ExpectRefused(Verify(good.substr(0, length), kind), kind);
    }
  }
}

TEST(VerifyStoredFile, MOD_01_RefusesRandomBytesAndTexts) {
  std::mt19937 random(5);
  std::string noise(100'000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  const std::string text = "#!/bin/sh\n" + std::string(5000, '#');
  for (const StoredKind kind : kChecked) {
    ExpectRefused(Verify(noise, kind), kind);
    ExpectRefused(Verify(text, kind), kind);
  }
}

TEST(VerifyStoredFile, MOD_01_RefusesOtherArchitectures) {
  const std::string module = Good(StoredKind::kModule);
  ExpectRefused(
      Verify(With<uint16_t>(module, offsetof(Elf64_Ehdr, e_machine), EM_S390), StoredKind::kModule),
      StoredKind::kModule);
  AssemblyBytes bytes = AssemblyBytes::ReadyToRun();
  bytes.machine = AssemblyBytes::kNative;
  ExpectRefused(Verify(bytes.Build(), StoredKind::kAssembly), StoredKind::kAssembly);
}

TEST(VerifyStoredFile, MOD_01_RefusesAFifoWithoutWaiting) {
  const TestFolder folder;
  const std::string path = folder.path() + "/fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(fd.valid());
  for (const StoredKind kind : kChecked) {
    ExpectRefused(VerifyStoredFile(fd.get(), kind).status(), kind);
  }
}

TEST(VerifyStoredFile, MOD_01_RefusesSparseFilesWithoutReadingThem) {
  for (const StoredKind kind : kChecked) {
    const UniqueFd fd = MemoryFile("");
    ASSERT_EQ(::ftruncate(fd.get(), off_t{1} << 40), 0);
    ExpectRefused(VerifyStoredFile(fd.get(), kind).status(), kind);
  }
  // A hole where the second half of a module was.
  const std::string module = Good(StoredKind::kModule);
  const UniqueFd half = MemoryFile(module.substr(0, module.size() / 2));
  ASSERT_EQ(::ftruncate(half.get(), static_cast<off_t>(module.size())), 0);
  ExpectRefused(VerifyStoredFile(half.get(), StoredKind::kModule).status(), StoredKind::kModule);
}

}  // namespace
}  // namespace cohost::supervisor
