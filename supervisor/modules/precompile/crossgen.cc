// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/precompile/crossgen.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"
#include "supervisor/modules/signing/content_hash.h"
#include "supervisor/modules/tree/folder_removal.h"

namespace cohost::supervisor {

namespace {

namespace fs = std::filesystem;

constexpr char kRemedy[] =
    "; assemblies without precompiled code are compiled by every worker instead, which costs start "
    "time and memory. Install the .NET SDK of this version and let it reach a package source, or "
    "unpack the package ";
constexpr size_t kMostToolFiles = 100;

absl::Status FromCode(const std::error_code& error, const char* call, const std::string& path) {
  return error ? ErrnoStatus(error.value(), call, path) : absl::OkStatus();
}

bool IsVersion(std::string_view version) {
  return !version.empty() && version.size() <= 64 &&
         std::all_of(version.begin(), version.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-';
         });
}

std::string PackageName() {
  return absl::StrCat("Microsoft.NETCore.App.Crossgen2.", RuntimeIdentifier());
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// The last lines say what went wrong.
std::string LastOf(const std::string& output) {
  constexpr size_t kMost = 400;
  std::string text(absl::StripAsciiWhitespace(output));
  if (text.size() > kMost) text.erase(0, text.size() - kMost);
  return text;
}

absl::Status GiveTo(const ProcessIdentity& identity, const std::string& path) {
  if (!identity.uid.has_value() && !identity.gid.has_value()) return absl::OkStatus();
  const uid_t uid = identity.uid.value_or(static_cast<uid_t>(-1));
  const gid_t gid = identity.gid.value_or(static_cast<gid_t>(-1));
  if (::lchown(path.c_str(), uid, gid) != 0) return ErrnoStatus(errno, "chown", path);
  return absl::OkStatus();
}

}  // namespace

std::string RuntimeIdentifier() {
#if defined(__aarch64__)
  return "linux-arm64";
#else
  return "linux-x64";
#endif
}

std::string RestoreProject(const std::string& version) {
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  const std::string framework =
      absl::StrCat("net", parts[0], ".", parts.size() > 1 ? parts[1] : "0");
  // Without the framework's own references nothing but the named package is downloaded.
  return absl::StrCat(
      "<Project Sdk=\"Microsoft.NET.Sdk\">\n  <PropertyGroup>\n", "    <TargetFramework>",
      framework, "</TargetFramework>\n", "    <DisableImplicitFrameworkReferences>true",
      "</DisableImplicitFrameworkReferences>\n",
      "    <ImportDirectoryBuildProps>false</ImportDirectoryBuildProps>\n",
      "  </PropertyGroup>\n  <ItemGroup>\n", "    <PackageDownload Include=\"", PackageName(),
      "\" Version=\"[", version, "]\" />\n  </ItemGroup>\n</Project>\n");
}

std::string CompileFlags(const std::string& instruction_set) {
  std::string flags = absl::StrCat("--targetos:linux --targetarch:",
                                   RuntimeIdentifier() == "linux-x64" ? "x64" : "arm64", " -O");
  if (!instruction_set.empty()) absl::StrAppend(&flags, " --instruction-set:", instruction_set);
  return flags;
}

std::vector<std::string> CompileArguments(const CompileJob& job) {
  std::vector<std::string> arguments = {job.input, absl::StrCat("--out:", job.output)};
  for (const absl::string_view flag : absl::StrSplit(CompileFlags(job.instruction_set), ' ')) {
    arguments.emplace_back(flag);
  }
  // Many are compiled at once.
  arguments.emplace_back("--parallelism:1");
  for (const std::string& folder : job.reference_folders) {
    // The compiler expands it itself.
    arguments.push_back(absl::StrCat("--reference:", folder, "/*.dll"));
  }
  return arguments;
}

absl::StatusOr<Crossgen> CrossgenFinder::Find(const std::string& version) {
  if (const auto known = answers_.find(version); known != answers_.end()) return known->second;
  auto found = Search(version);
  if (!found.ok() && !absl::IsCancelled(found.status())) {
    found = absl::NotFoundError(absl::StrCat(
        "no crossgen2 for .NET ", version, " (", found.status().message(), ")", kRemedy,
        PackageName(), " ", version, " and name its folder 'tools' in the configuration"));
  }
  if (!absl::IsCancelled(found.status())) answers_.emplace(version, found);
  return found;
}

absl::StatusOr<Crossgen> CrossgenFinder::Search(const std::string& version) {
  if (!options_.configured.empty()) return Configured();
  if (!IsVersion(version)) {
    return absl::InvalidArgumentError(absl::StrCat("'", version, "' is no version"));
  }
  const std::string own = absl::StrCat(options_.folder, "/crossgen2-", version);
  const std::string id = absl::StrCat("crossgen2 ", version);
  if (auto found = In(own, id); found.ok()) return found;
  const auto package_in = [&version](const std::string& packages) {
    return absl::StrCat(packages, "/", absl::AsciiStrToLower(PackageName()), "/", version);
  };
  std::error_code error;
  std::string package = package_in(options_.nuget_packages);
  if (options_.nuget_packages.empty() || !fs::is_directory(package, error)) {
    COHOST_ASSIGN_OR_RETURN(const std::string packages, Restore(version));
    package = package_in(packages);
  }
  COHOST_RETURN_IF_ERROR(Copy(package, own));
  return In(own, id);
}

absl::StatusOr<Crossgen> CrossgenFinder::Configured() const {
  std::error_code error;
  std::string folder = options_.configured;
  if (!fs::is_directory(folder, error)) folder = fs::path(folder).parent_path();
  COHOST_ASSIGN_OR_RETURN(Crossgen found, In(folder, ""));
  // Whose version nobody tells.
  COHOST_ASSIGN_OR_RETURN(const std::string hash, HashOfFile(found.command.back()));
  found.id = absl::StrCat("crossgen2 sha256:", hash.substr(0, 16));
  return found;
}

absl::StatusOr<Crossgen> CrossgenFinder::In(const std::string& folder,
                                            const std::string& id) const {
  // Since .NET 10 it is a program of its own; before it is one of .NET.
  const std::string managed = folder + "/crossgen2.dll";
  if (Exists(managed)) {
    if (options_.dotnet.empty()) {
      return absl::NotFoundError(
          absl::StrCat("'", managed, "' needs the dotnet program, which is not known"));
    }
    return Crossgen{id, {options_.dotnet, managed}};
  }
  const std::string program = folder + "/crossgen2";
  if (!Exists(program)) return absl::NotFoundError(absl::StrCat("no '", program, "'"));
  return Crossgen{id, {program}};
}

// All files of the package's folder of tools, readable and executable by everybody; whole or not
// there.
absl::Status CrossgenFinder::Copy(const std::string& package, const std::string& to) const {
  const std::string from = package + "/tools";
  const std::string staging = to + ".new";
  std::error_code error;
  fs::remove_all(staging, error);
  COHOST_RETURN_IF_ERROR(FromCode(error, "remove", staging));
  COHOST_RETURN_IF_ERROR(MakeFolders(staging, 0755));
  size_t files = 0;
  auto entry = fs::directory_iterator(from, error);
  COHOST_RETURN_IF_ERROR(FromCode(error, "readdir", from));
  for (; entry != fs::directory_iterator(); entry.increment(error)) {
    if (!entry->is_regular_file(error)) continue;
    if (++files > kMostToolFiles) {
      return absl::ResourceExhaustedError(absl::StrCat("'", from, "' has too many files"));
    }
    const fs::path copy = fs::path(staging) / entry->path().filename();
    fs::copy_file(entry->path(), copy, error);
    COHOST_RETURN_IF_ERROR(FromCode(error, "copy", copy));
    fs::permissions(copy, static_cast<fs::perms>(0755), error);
    COHOST_RETURN_IF_ERROR(FromCode(error, "chmod", copy));
  }
  COHOST_RETURN_IF_ERROR(FromCode(error, "readdir", from));
  COHOST_RETURN_IF_ERROR(In(staging, "").status());
  fs::rename(staging, to, error);
  return FromCode(error, "rename", to);
}

// The folder of packages.
absl::StatusOr<std::string> CrossgenFinder::Restore(const std::string& version) {
  if (!options_.may_restore) {
    return absl::NotFoundError("none is here, and host.dotnet.precompile does not let it restore");
  }
  if (options_.dotnet.empty() || !Exists(options_.dotnet)) {
    return absl::NotFoundError("there is no dotnet program to restore it with");
  }
  const std::string folder = absl::StrCat(options_.folder, "/restore-", version);
  const std::string project = folder + "/crossgen2.csproj";
  const std::string packages = folder + "/packages";
  // What an earlier attempt left belongs to the program's identity.
  COHOST_RETURN_IF_ERROR(MakeFolders(options_.folder, 0755));
  COHOST_ASSIGN_OR_RETURN(const UniqueFd parent, OpenFile(options_.folder, O_RDONLY | O_DIRECTORY));
  COHOST_RETURN_IF_ERROR(RemoveBelow(parent.get(), absl::StrCat("restore-", version)));
  COHOST_RETURN_IF_ERROR(MakeFolders(folder, 0755));
  COHOST_RETURN_IF_ERROR(WriteFileAtomically(project, RestoreProject(version), 0644));
  for (const std::string& each : {folder + "/home", packages, folder}) {
    COHOST_RETURN_IF_ERROR(MakeFolders(each, 0755));
    COHOST_RETURN_IF_ERROR(GiveTo(options_.identity, each));
  }
  RunRequest request{.purpose = "restore-crossgen2",
                     .program = options_.dotnet,
                     .arguments = {"restore", project, "--packages", packages},
                     .environment = options_.environment,
                     .identity = options_.identity,
                     .limit = options_.restore_limit};
  std::erase_if(request.environment, [](const std::string& each) {
    return each.starts_with("HOME=") || each.starts_with("DOTNET_CLI_HOME=");
  });
  for (const std::string& each :
       {absl::StrCat("HOME=", folder, "/home"), absl::StrCat("DOTNET_CLI_HOME=", folder, "/home"),
        std::string("DOTNET_CLI_TELEMETRY_OPTOUT=1"), std::string("DOTNET_NOLOGO=1"),
        // Its build servers would live on.
        std::string("MSBUILDDISABLENODEREUSE=1")}) {
    request.environment.push_back(each);
  }
  COHOST_ASSIGN_OR_RETURN(const RunResult result, runner_.Run(request));
  if (result.exit_code == 0) return packages;
  return absl::UnavailableError(absl::StrCat("'dotnet restore' failed: ", LastOf(result.output)));
}

}  // namespace cohost::supervisor
