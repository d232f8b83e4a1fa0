// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/installation.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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

bool HasHost(const std::string& root) {
  const std::string folder = absl::StrCat(root, "/host/fxr");
  for (const std::string& version : NamesOf(folder)) {
    if (ReleaseVersion::Parse(version) &&
        IsThere(absl::StrCat(folder, "/", version, "/libhostfxr.so"))) {
      return true;
    }
  }
  return false;
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

absl::StatusOr<DotnetInstallation> FindDotnet(const DotnetSearch& search) {
  std::vector<std::string> places;
  if (!search.configured.empty()) {
    places.push_back(search.configured);
  } else {
    if (!search.environment.empty()) places.push_back(search.environment);
    places.insert(places.end(), search.usual.begin(), search.usual.end());
  }
  for (const std::string& place : places) {
    if (HasHost(place)) return Describe(place);
  }
  return absl::NotFoundError(absl::StrCat(
      "there is no .NET on this machine: no host/fxr/*/libhostfxr.so in ",
      absl::StrJoin(places, ", "),
      "; install the ASP.NET Core runtime (package aspnetcore-runtime-10.0), or write in "
      "host.dotnet.root where it is"));
}

}  // namespace cohost::supervisor
