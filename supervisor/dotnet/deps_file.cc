// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/deps_file.h"

#include <algorithm>
#include <charconv>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "supervisor/dotnet/json_file.h"

namespace cohost::supervisor {
namespace {

// Those of applications with 300 packages have 300 KiB.
constexpr Bytes kLargest = MiB(16);
constexpr std::string_view kOwnType = "project";

// A text of another form counts as not said, as for .NET's host.
std::array<uint32_t, 4> VersionOf(const std::string& text) {
  std::array<uint32_t, 4> version{};
  const std::vector<std::string> parts = absl::StrSplit(text, '.');
  for (size_t i = 0; i < parts.size() && i < version.size(); ++i) {
    const auto [end, error] =
        std::from_chars(parts[i].data(), parts[i].data() + parts[i].size(), version[i]);
    if (error != std::errc() || end != parts[i].data() + parts[i].size()) return {};
  }
  return version;
}

absl::Status AddAssets(const boost::json::object& library, bool is_own, std::string_view version,
                       DepsFile& deps) {
  const boost::json::object* assets = ObjectIn(library, "runtime");
  if (assets == nullptr) return absl::OkStatus();
  for (const auto& asset : *assets) {
    const std::string_view path(asset.key().data(), asset.key().size());
    std::string name(path.substr(path.rfind('/') + 1));
    // Names go into messages.
    if (std::any_of(name.begin(), name.end(), absl::ascii_iscntrl)) {
      return absl::InvalidArgumentError("a name in it has control characters");
    }
    AssetVersion said_version;
    if (const boost::json::object* said = asset.value().if_object()) {
      said_version = {VersionOf(TextIn(*said, "assemblyVersion")),
                      VersionOf(TextIn(*said, "fileVersion"))};
    }
    if (is_own) deps.own.push_back(name);
    deps.package_versions[name] = std::string(version);
    deps.assemblies[std::move(name)] = said_version;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DepsFile> DepsFile::Parse(std::string_view text) {
  COHOST_ASSIGN_OR_RETURN(const boost::json::object root, ParseJsonObject(text));
  const boost::json::object* named = ObjectIn(root, "runtimeTarget");
  const boost::json::object* targets = ObjectIn(root, "targets");
  const std::string name = named == nullptr ? "" : TextIn(*named, "name");
  const boost::json::object* target =
      targets == nullptr || name.empty() ? nullptr : ObjectIn(*targets, name);
  if (target == nullptr) {
    return absl::InvalidArgumentError("it has no target of the name in runtimeTarget");
  }
  const boost::json::object* libraries = ObjectIn(root, "libraries");
  DepsFile deps;
  for (const auto& library : *target) {
    const boost::json::object* assets = library.value().if_object();
    if (assets == nullptr) continue;
    const std::string_view id(library.key().data(), library.key().size());
    const boost::json::object* described =
        libraries == nullptr ? nullptr : ObjectIn(*libraries, id);
    const bool is_own = described != nullptr && TextIn(*described, "type") == kOwnType;
    const size_t slash = id.find('/');
    const std::string_view version = slash == std::string_view::npos ? "" : id.substr(slash + 1);
    if (std::any_of(version.begin(), version.end(), absl::ascii_iscntrl)) {
      return absl::InvalidArgumentError("a version in it has control characters");
    }
    COHOST_RETURN_IF_ERROR(AddAssets(*assets, is_own, version, deps));
  }
  return deps;
}

absl::StatusOr<DepsFile> DepsFile::Read(const std::string& path) {
  COHOST_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(path, kLargest));
  absl::StatusOr<DepsFile> deps = Parse(text);
  if (deps.ok()) return deps;
  return Annotate(deps.status(), absl::StrCat("'", path, "'"));
}

}  // namespace cohost::supervisor
