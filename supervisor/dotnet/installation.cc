// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/installation.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace cohost::supervisor {
namespace {

// Names in a folder; none when it cannot be read.
std::vector<std::string> NamesOf(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    names.push_back(each->path().filename().string());
  }
  return names;
}

bool IsThere(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

DotnetInstallation Describe(std::string root) {
  DotnetInstallation found;
  const std::string shared = absl::StrCat(root, "/shared");
  for (const std::string& name : NamesOf(shared)) {
    for (const std::string& text : NamesOf(absl::StrCat(shared, "/", name))) {
      std::optional<ReleaseVersion> version = ReleaseVersion::Parse(text);
      if (!version || version->ToString() != text) continue;
      if (!IsThere(absl::StrCat(shared, "/", name, "/", text, "/", name, ".deps.json"))) continue;
      found.frameworks[name].insert(*std::move(version));
    }
  }
  found.root = std::move(root);
  return found;
}

}  // namespace

std::string DotnetInstallation::FolderOf(const std::string& framework,
                                         const ReleaseVersion& version) const {
  return absl::StrCat(root, "/shared/", framework, "/", version.ToString());
}

absl::StatusOr<DotnetInstallation> FindDotnet(const DotnetPlaces& places) {
  COHOST_ASSIGN_OR_RETURN(DotnetHost host, FindDotnetHost(places));
  return Describe(std::move(host.root));
}

}  // namespace cohost::supervisor
