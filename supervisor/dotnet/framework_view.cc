// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/framework_view.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

namespace fs = std::filesystem;

// Of the number that tells views of equal versions apart.
constexpr size_t kNumberDigits = 12;

// Place in the view -> where it leads.
std::map<std::string, std::string> LinksOf(const DotnetInstallation& installation,
                                           const FrameworkVersions& versions) {
  std::map<std::string, std::string> links = {{"host", absl::StrCat(installation.root, "/host")}};
  for (const auto& [name, version] : versions) {
    links[absl::StrCat("shared/", name, "/", version.ToString())] =
        installation.FolderOf(name, version);
  }
  return links;
}

std::string NumberOf(const std::map<std::string, std::string>& links) {
  Sha256 hash;
  for (const auto& [place, target] : links) {
    hash.Update(absl::StrCat(place, "\n", target, "\n"));
  }
  return HexDigest(hash.Finish()).substr(0, kNumberDigits);
}

absl::Status Make(const std::map<std::string, std::string>& links, const std::string& folder) {
  for (const auto& [place, target] : links) {
    const fs::path link = fs::path(folder) / place;
    COHOST_RETURN_IF_ERROR(MakeFolders(link.parent_path().string(), 0755));
    std::error_code error;
    fs::create_directory_symlink(target, link, error);
    if (error) return ErrnoStatus(error.value(), "symlink", link.string());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> MakeFrameworkView(const DotnetInstallation& installation,
                                              const FrameworkVersions& versions,
                                              const std::string& folder) {
  const auto core = versions.find(kCoreFramework);
  if (core == versions.end()) {
    return absl::InvalidArgumentError(absl::StrCat("no version of ", kCoreFramework));
  }
  const std::map<std::string, std::string> links = LinksOf(installation, versions);
  const std::string path = absl::StrCat(folder, "/", core->second.ToString(), "-", NumberOf(links));
  std::error_code error;
  if (fs::exists(path, error)) return path;
  // Made beside it and renamed, so that it is there as a whole or not at all.
  COHOST_RETURN_IF_ERROR(MakeFolders(folder, 0755));
  std::string making = absl::StrCat(folder, "/.new-XXXXXX");
  if (::mkdtemp(making.data()) == nullptr) return ErrnoStatus(errno, "mkdtemp", making);
  absl::Cleanup remove = [&making] {
    std::error_code ignored;  // Ignoring: it is in nobody's way.
    fs::remove_all(making, ignored);
  };
  COHOST_RETURN_IF_ERROR(Make(links, making));
  // Workers of other users go through it.
  fs::permissions(making, fs::perms(0755), error);
  if (error) return ErrnoStatus(error.value(), "chmod", making);
  fs::rename(making, path, error);
  if (error) return ErrnoStatus(error.value(), "rename", path);
  std::move(remove).Cancel();
  return path;
}

}  // namespace cohost::supervisor
