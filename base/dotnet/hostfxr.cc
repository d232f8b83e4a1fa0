// SPDX-License-Identifier: Apache-2.0
#include "base/dotnet/hostfxr.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/dotnet/release_version.h"

namespace cohost {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> NewestHostfxr(const fs::path& root) {
  std::optional<ReleaseVersion> newest;
  std::string found;
  std::error_code error;
  // A folder that cannot be read has none: the message names it.
  for (fs::directory_iterator each(root / "host" / "fxr", error), end; !error && each != end;
       each.increment(error)) {
    std::optional<ReleaseVersion> version = ReleaseVersion::Parse(each->path().filename().string());
    const fs::path library = each->path() / "libhostfxr.so";
    std::error_code missing;
    if (!version.has_value() || !fs::is_regular_file(library, missing)) continue;
    if (newest.has_value() && *version < *newest) continue;
    newest = std::move(version);
    found = library.string();
  }
  if (!newest.has_value()) return std::nullopt;
  return found;
}

}  // namespace

absl::StatusOr<DotnetHost> FindDotnetHost(const DotnetPlaces& places) {
  std::vector<std::string> roots;
  if (!places.configured.empty()) {
    roots.push_back(places.configured);
  } else {
    if (!places.environment.empty()) roots.push_back(places.environment);
    roots.insert(roots.end(), places.usual.begin(), places.usual.end());
  }
  for (const std::string& root : roots) {
    if (auto hostfxr = NewestHostfxr(root)) return DotnetHost{root, *std::move(hostfxr)};
  }
  return absl::NotFoundError(absl::StrCat(
      "there is no .NET on this machine: no host/fxr/*/libhostfxr.so in ",
      absl::StrJoin(roots, ", "),
      "; install the ASP.NET Core runtime (package aspnetcore-runtime-10.0), or write in "
      "host.dotnet.root where it is"));
}

}  // namespace cohost
