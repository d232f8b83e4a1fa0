// SPDX-License-Identifier: Apache-2.0
#include "worker/dotnet/dotnet_root.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cohost::worker::dotnet {
namespace {

namespace fs = std::filesystem;

struct Version {
  std::array<uint32_t, 3> numbers{};
  // "10.0.0-rc.1" is older than "10.0.0".
  bool is_release = true;
  std::string preview;

  friend bool operator<(const Version& a, const Version& b) {
    return std::tie(a.numbers, a.is_release, a.preview) <
           std::tie(b.numbers, b.is_release, b.preview);
  }
};

// "10.0.12", "10.0.0-rc.1.25451.107". Previews of one version are compared as text, which is enough
// to prefer the later of two.
std::optional<Version> ParseVersion(std::string_view text) {
  Version version;
  const size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    version.is_release = false;
    version.preview = text.substr(dash + 1);
    text = text.substr(0, dash);
  }
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < version.numbers.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, version.numbers[i]);
    if (error != std::errc()) return std::nullopt;
    at = next;
    if (i + 1 == version.numbers.size()) break;
    if (at == end || *at != '.') return std::nullopt;
    ++at;
  }
  if (at != end) return std::nullopt;
  return version;
}

std::optional<std::string> NewestHostfxr(const fs::path& root) {
  std::optional<Version> newest;
  std::string found;
  std::error_code error;
  // A folder that cannot be read has none: the message names it.
  for (fs::directory_iterator each(root / "host" / "fxr", error), end; !error && each != end;
       each.increment(error)) {
    const std::optional<Version> version = ParseVersion(each->path().filename().string());
    const fs::path library = each->path() / "libhostfxr.so";
    std::error_code missing;
    if (!version.has_value() || !fs::is_regular_file(library, missing)) continue;
    if (newest.has_value() && *version < *newest) continue;
    newest = version;
    found = library.string();
  }
  if (!newest.has_value()) return std::nullopt;
  return found;
}

}  // namespace

absl::StatusOr<std::string> FindHostfxr(const DotnetPlaces& places) {
  std::vector<std::string> roots;
  if (!places.configured.empty()) {
    roots.push_back(places.configured);
  } else {
    if (!places.environment.empty()) roots.push_back(places.environment);
    roots.insert(roots.end(), places.usual.begin(), places.usual.end());
  }
  for (const std::string& root : roots) {
    if (std::optional<std::string> found = NewestHostfxr(root)) return *std::move(found);
  }
  return absl::NotFoundError(
      absl::StrCat("no .NET in ", absl::StrJoin(roots, ", "),
                   " (host/fxr/VERSION/libhostfxr.so): install the ASP.NET Core runtime (package "
                   "aspnetcore-runtime-10.0), or set host.dotnet.root to where it is"));
}

}  // namespace cohost::worker::dotnet
