// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/needed_libraries.h"

#include <sys/stat.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/module_files.h"
#include "tests/supervisor/modules/verify/file_bytes.h"

namespace cohost::supervisor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// As long as the folder of a test may be.
constexpr char kRunPath[] =
    "/a/folder/that/is/not/there/and/has/a/long/name/and/has/a/long/name/and/has/a/long/name"
    "/and/has/a/long/name/and/has/a/long/name/and/has/a/long/name/and/has/a/long/name"
    "/and/has/a/long/name/and/has/a/long/name/and/has/a/long/name";

class NeededLibraries : public ::testing::Test {
 protected:
  // As on this host, or with the test's folder as the only one.
  absl::Status Check(const std::string& content, const LibrarySearch& search = {}) const {
    const UniqueFd fd = MemoryFile(content);
    const auto image = ElfImage::Read(fd.get());
    return image.ok() ? CheckNeededLibraries(*image, search) : image.status();
  }
  LibrarySearch OnlyHere() const { return {folder_.path() + "/none", {folder_.path()}}; }

  void ExpectMissing(const std::string& content, const std::string& library,
                     const std::string& why) const {
    const absl::Status status = Check(content);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(
        std::string(status.message()),
        AllOf(HasSubstr(library), HasSubstr("install it or link it statically"), HasSubstr(why)));
  }

  // A module that needs "libz.so.9" in place of the C library, and looks for it in `run_path`.
  std::string Module(const std::string& run_path, const char* file = "needs_libraries.so") const {
    const std::string module = ModuleContent(std::string("verify/") + file);
    return Replaced(Replaced(module, "libc.so.6", "libz.so.9"), kRunPath, run_path);
  }
  // A library that needs libc.so.6 and has no versions.
  void InstallLibrary(const std::string& name) const {
    folder_.Write(name, ModuleContent("verify/needs_libraries.so"));
  }

  TestFolder folder_;
};

TEST_F(NeededLibraries, OfThisHostAreFound) {
  const absl::Status status = Check(ModuleContent("verify/needs_libraries.so"));
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(NeededLibraries, OfThisHostAreFoundInDefaultFoldersWithoutTheCache) {
  LibrarySearch search;
  search.cache = folder_.path() + "/none";
  const absl::Status status = Check(ModuleContent("verify/needs_libraries.so"), search);
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(NeededLibraries, ThatAreMissingAreNamedWithTheRemedy) {
  ExpectMissing(Module("/none"), "it needs the library libz.so.9", "not on this host");
  EXPECT_EQ(Check(ModuleContent("verify/needs_libraries.so"), OnlyHere()).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(NeededLibraries, AreFoundByRunPathAndItsAncestor) {
  InstallLibrary("libz.so.9");
  for (const char* file : {"needs_libraries.so", "needs_libraries_rpath.so"}) {
    EXPECT_TRUE(Check(Module(folder_.path(), file)).ok()) << Check(Module(folder_.path(), file));
    EXPECT_TRUE(Check(Module("/none::relative:" + folder_.path(), file)).ok());
    EXPECT_FALSE(Check(Module("/none", file)).ok());
  }
}

TEST_F(NeededLibraries, OfAModuleAreNotFoundByOrigin) {
  for (const char* origin : {"$ORIGIN", "${ORIGIN}/../lib"}) {
    ExpectMissing(Module(origin), "libz.so.9", "$ORIGIN is the folder of the module store there");
  }
  const absl::Status other = Check(Module("/none"));
  EXPECT_THAT(std::string(other.message()), Not(HasSubstr("ORIGIN")));
}

TEST_F(NeededLibraries, OfALibraryAreFoundByItsOrigin) {
  const std::string library = ModuleContent("verify/needs_libraries.so");
  folder_.Write("libz.so.9",
                Replaced(Replaced(library, "libc.so.6", "liby.so.9"), kRunPath, "$ORIGIN"));
  const absl::Status missing = Check(Module(folder_.path()));
  EXPECT_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("its library " + folder_.path() +
                                                        "/libz.so.9 needs the library liby.so.9"));
  InstallLibrary("liby.so.9");
  EXPECT_TRUE(Check(Module(folder_.path())).ok()) << Check(Module(folder_.path()));
}

TEST_F(NeededLibraries, RunPathIsOfTheObjectAloneAndRPathOfWhatItBrings) {
  const std::string library = ModuleContent("verify/needs_libraries_rpath.so");
  folder_.Write("libz.so.9",
                Replaced(Replaced(library, "libc.so.6", "liby.so.9"), kRunPath, "/none"));
  InstallLibrary("liby.so.9");
  EXPECT_FALSE(Check(Module(folder_.path(), "needs_libraries.so")).ok());
  EXPECT_TRUE(Check(Module(folder_.path(), "needs_libraries_rpath.so")).ok());
}

TEST_F(NeededLibraries, MayNeedEachOther) {
  const std::string library = ModuleContent("verify/needs_libraries.so");
  folder_.Write("libz.so.9",
                Replaced(Replaced(library, "libc.so.6", "liby.so.9"), kRunPath, "$ORIGIN"));
  folder_.Write("liby.so.9",
                Replaced(Replaced(library, "libc.so.6", "libz.so.9"), kRunPath, "$ORIGIN"));
  EXPECT_TRUE(Check(Module(folder_.path())).ok()) << Check(Module(folder_.path()));
}

TEST_F(NeededLibraries, OfOtherMachinesAreNoMatch) {
  std::string library = ModuleContent("verify/needs_libraries.so");
  library = With<uint16_t>(library, offsetof(Elf64_Ehdr, e_machine), EM_RISCV);
  folder_.Write("libz.so.9", library);
  const absl::Status status = Check(Module(folder_.path()));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another machine (RISC-V)"));
}

TEST_F(NeededLibraries, AreRegularFilesOrNothing) {
  ASSERT_EQ(::mkfifo((folder_.path() + "/libz.so.9").c_str(), 0600), 0);
  EXPECT_EQ(Check(Module(folder_.path())).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(NeededLibraries, NamedByAPathAreLookedForThereOnly) {
  InstallLibrary("l");
  const std::string module = ModuleContent("verify/needs_libraries.so");
  const auto with_name = [&](const std::string& name) {
    // The name takes the place of the RUNPATH, which is long enough for it.
    const std::string renamed = Replaced(module, kRunPath, name);
    uint64_t offset = 0;
    std::memcpy(&offset, renamed.data() + DynamicAt(renamed, DT_RUNPATH) + 8, sizeof offset);
    return With<uint64_t>(renamed, DynamicAt(renamed, DT_NEEDED) + 8, offset);
  };
  EXPECT_TRUE(Check(with_name(folder_.path() + "/l")).ok());
  ExpectMissing(with_name("/none/l"), "/none/l", "not on this host");
  ExpectMissing(with_name("lib/l"), "lib/l", "a path that is not absolute");
}

TEST_F(NeededLibraries, HaveTheVersionsThatAreAskedOfThem) {
  const std::string module = ModuleContent("verify/needs_libraries.so");
  const absl::Status status = Check(Replaced(module, "GLIBC_2.", "GLIBC_9."));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("needs version GLIBC_9."), HasSubstr("of libc.so.6"),
                    HasSubstr("build it on this distribution or an older one")));
}

TEST_F(NeededLibraries, WithHostileNamesAreRefusedPrintably) {
  std::string module = ModuleContent("verify/needs_libraries.so");
  module = Replaced(module, "libc.so.6", "\x1b[31m\n");
  const absl::Status status = Check(module);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()).find_first_of("\x1b\n"), std::string::npos);
}

}  // namespace
}  // namespace cohost::supervisor
