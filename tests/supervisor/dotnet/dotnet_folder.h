// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tests/supervisor/modules/verify/assembly_bytes.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {

// A folder that looks like an installed .NET, and applications for it, without any .NET.
class DotnetFolder {
 public:
  DotnetFolder() { AddVersion("10.0.12"); }

  std::string root() const { return folder_ / "dotnet"; }
  std::string path(const std::string& name) const { return folder_ / name; }

  void Write(const std::string& name, std::string_view content) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }

  // A host and both frameworks, of which the second has Json.dll 10.0.0.0 (file 10.0.12.1).
  void AddVersion(const std::string& version) const {
    Write(absl::StrCat("dotnet/host/fxr/", version, "/libhostfxr.so"), "");
    Write(absl::StrCat("dotnet/shared/Microsoft.NETCore.App/", version,
                       "/Microsoft.NETCore.App.deps.json"),
          Deps("{}"));
    Write(absl::StrCat("dotnet/shared/Microsoft.AspNetCore.App/", version,
                       "/Microsoft.AspNetCore.App.deps.json"),
          Deps(R"({"Json.dll": {"assemblyVersion": "10.0.0.0", "fileVersion": "10.0.12.1"}})"));
  }

  // APP/App.dll with its two files; the path of the assembly.
  std::string AddApplication(const AssemblyBytes& assembly = {},
                             const std::string& version = "10.0.0",
                             const std::string& assets = R"({"App.dll": {}})") const {
    Write("app/App.dll", assembly.Build());
    Write("app/App.runtimeconfig.json", Config(version));
    Write("app/App.deps.json", Deps(assets));
    return path("app/App.dll");
  }

  static std::string Config(const std::string& version, const std::string& more = "") {
    return absl::StrCat(R"({"runtimeOptions": {"tfm": "net10.0", "frameworks": [)",
                        R"({"name": "Microsoft.NETCore.App", "version": ")", version, R"("}, )",
                        R"({"name": "Microsoft.AspNetCore.App", "version": ")", version, R"("}])",
                        more, "}}");
  }
  // All of one package of that version.
  static std::string Deps(const std::string& assets, const std::string& version = "1.0.0") {
    return absl::StrCat(R"({"runtimeTarget": {"name": "T"}, "targets": {"T": {"App/)", version,
                        R"(": {"runtime": )", assets, R"(}}}, "libraries": {"App/)", version,
                        R"(": {"type": "project"}}})");
  }

 private:
  const testing::TemporaryFolder folder_;
};

}  // namespace cohost::supervisor
