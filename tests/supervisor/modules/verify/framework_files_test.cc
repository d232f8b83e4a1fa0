// SPDX-License-Identifier: Apache-2.0
//
// The assemblies of an installed .NET against our reader: what it says of names, versions and
// precompiled code has to hold for all of them. Skipped where there is no .NET.
#include <fcntl.h>

#include <filesystem>

#include "gtest/gtest.h"
#include "supervisor/modules/verify/verify_stored_file.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

namespace fs = std::filesystem;

constexpr char kInstalled[] = "/shared/Microsoft.NETCore.App";

// The folder of the newest installed framework; empty when there is none.
fs::path FrameworkFolder() {
  fs::path newest;
  for (const char* root : {"/usr/share/dotnet", "/usr/lib/dotnet"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(std::string(root) + kInstalled, error)) {
      newest = std::max(newest, entry.path());
    }
  }
  return newest;
}

absl::StatusOr<FileReport> Verify(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(fd.valid()) << path;
  return VerifyStoredFile(fd.get(), StoredKind::kAssembly);
}

TEST(FrameworkFiles, AreReadWithTheirNamesVersionsAndCode) {
  const fs::path folder = FrameworkFolder();
  if (folder.empty()) GTEST_SKIP() << "no .NET here";
  const auto core = Verify(folder / "System.Private.CoreLib.dll");
  ASSERT_TRUE(core.ok()) << core.status();
  ASSERT_TRUE(core->assembly.has_value());
  EXPECT_TRUE(core->assembly->is_ready_to_run);
  EXPECT_TRUE(core->assembly->references.empty());
  const FrameworkVersion framework = {core->assembly->name.version.major,
                                      core->assembly->name.version.minor,
                                      core->assembly->ready_to_run_major};
  EXPECT_TRUE(folder.filename().string().starts_with(std::to_string(framework.major) + "."));
  int ready_to_run = 0;
  int il = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".dll") continue;
    const auto report = Verify(entry.path());
    ASSERT_TRUE(report.ok()) << entry.path() << ": " << report.status();
    const AssemblyInfo& assembly = *report->assembly;
    EXPECT_EQ(assembly.name.name, entry.path().stem());
    EXPECT_TRUE(CheckFramework(assembly, framework).ok()) << entry.path();
    EXPECT_TRUE(AssemblyWarnings(assembly, framework).empty()) << entry.path();
    // Facades also name what comes in packages of its own.
    for (const AssemblyName& reference : assembly.references) {
      EXPECT_TRUE(!assembly.is_ready_to_run || fs::exists(folder / (reference.name + ".dll")))
          << reference.name;
    }
    if (const auto wanted = assembly.Framework()) {
      EXPECT_EQ(wanted->major, framework.major) << entry.path();
      const FrameworkVersion older = {static_cast<uint16_t>(framework.major - 1), 0, {}};
      EXPECT_FALSE(CheckFramework(assembly, older).ok()) << entry.path();
    }
    ++(assembly.is_ready_to_run ? ready_to_run : il);
  }
  EXPECT_GT(ready_to_run, 50);
  EXPECT_GT(il, 10);
}

TEST(FrameworkFiles, NativeLibrariesAreNoAssemblies) {
  const fs::path folder = FrameworkFolder();
  if (folder.empty()) GTEST_SKIP() << "no .NET here";
  EXPECT_EQ(Verify(folder / "libcoreclr.so").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cohost::supervisor
