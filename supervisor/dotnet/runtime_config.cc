// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/runtime_config.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "boost/json/serialize.hpp"
#include "supervisor/dotnet/json_file.h"

namespace cohost::supervisor {
namespace {

// What .NET's build writes has less than 2 KiB.
constexpr Bytes kLargest = MiB(1);

constexpr std::pair<std::string_view, RollForward> kRollForwards[] = {
    {"Disable", RollForward::kDisable}, {"LatestPatch", RollForward::kLatestPatch},
    {"Minor", RollForward::kMinor},     {"LatestMinor", RollForward::kLatestMinor},
    {"Major", RollForward::kMajor},     {"LatestMajor", RollForward::kLatestMajor}};

// Of `options`, or what holds without it.
absl::StatusOr<RollForward> ReadRollForward(const boost::json::object& options,
                                            RollForward inherited) {
  const std::string text = TextIn(options, "rollForward");
  if (text.empty()) {
    // As it was written before .NET Core 3.0.
    const boost::json::value* old = options.if_contains("rollForwardOnNoCandidateFx");
    if (old == nullptr || !old->is_int64()) return inherited;
    if (old->get_int64() == 0) return RollForward::kLatestPatch;
    return old->get_int64() == 1 ? RollForward::kMinor : RollForward::kMajor;
  }
  for (const auto& [name, value] : kRollForwards) {
    if (absl::EqualsIgnoreCase(AsAbsl(name), text)) return value;
  }
  return absl::InvalidArgumentError("its rollForward is none that .NET knows");
}

absl::Status AddFramework(const boost::json::object& framework, RollForward inherited,
                          std::vector<FrameworkReference>& frameworks) {
  FrameworkReference reference;
  reference.name = TextIn(framework, "name");
  const std::optional<ReleaseVersion> version = ReleaseVersion::Parse(TextIn(framework, "version"));
  const bool is_name = std::all_of(reference.name.begin(), reference.name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  });
  if (reference.name.empty() || !is_name || !version) {
    return absl::InvalidArgumentError("a framework in it has no name, or no version like 10.0.0");
  }
  reference.version = *version;
  COHOST_ASSIGN_OR_RETURN(reference.roll_forward, ReadRollForward(framework, inherited));
  frameworks.push_back(std::move(reference));
  return absl::OkStatus();
}

absl::StatusOr<RuntimeConfig> FromJson(const boost::json::object& root) {
  const boost::json::object* options = ObjectIn(root, "runtimeOptions");
  if (options == nullptr) return absl::InvalidArgumentError("it has no runtimeOptions");
  RuntimeConfig config;
  COHOST_ASSIGN_OR_RETURN(const RollForward inherited,
                          ReadRollForward(*options, RollForward::kMinor));
  if (const boost::json::object* one = ObjectIn(*options, "framework")) {
    COHOST_RETURN_IF_ERROR(AddFramework(*one, inherited, config.frameworks));
  }
  if (const boost::json::array* several = ArrayIn(*options, "frameworks")) {
    for (const boost::json::value& each : *several) {
      if (!each.is_object()) {
        return absl::InvalidArgumentError("a framework in it is no object");
      }
      COHOST_RETURN_IF_ERROR(AddFramework(each.get_object(), inherited, config.frameworks));
    }
  }
  config.is_self_contained = options->contains("includedFrameworks");
  if (const boost::json::object* properties = ObjectIn(*options, "configProperties")) {
    for (const auto& property : *properties) {
      config.properties[std::string(property.key())] = boost::json::serialize(property.value());
    }
  }
  return config;
}

}  // namespace

std::optional<ReleaseVersion> FrameworkReference::Resolve(
    const std::set<ReleaseVersion>& installed) const {
  std::vector<ReleaseVersion> candidates;
  for (const ReleaseVersion& each : installed) {
    if (each < version) continue;
    if (roll_forward == RollForward::kDisable && each != version) continue;
    const bool same_major = each.major == version.major;
    const bool same_minor = same_major && each.minor == version.minor;
    const bool any_major =
        roll_forward == RollForward::kMajor || roll_forward == RollForward::kLatestMajor;
    const bool any_minor = any_major || roll_forward == RollForward::kMinor ||
                           roll_forward == RollForward::kLatestMinor;
    if (same_minor || (same_major && any_minor) || any_major) candidates.push_back(each);
  }
  const auto is_release = [](const ReleaseVersion& each) { return each.preview.empty(); };
  if (version.preview.empty() && std::any_of(candidates.begin(), candidates.end(), is_release)) {
    std::erase_if(candidates, [&](const ReleaseVersion& each) { return !is_release(each); });
  }
  if (candidates.empty()) return std::nullopt;
  if (roll_forward == RollForward::kLatestMinor || roll_forward == RollForward::kLatestMajor) {
    return candidates.back();
  }
  // The nearest major.minor, of it the latest patch.
  ReleaseVersion best = candidates.front();
  for (const ReleaseVersion& each : candidates) {
    if (each.major == best.major && each.minor == best.minor) best = each;
  }
  return best;
}

absl::StatusOr<RuntimeConfig> RuntimeConfig::Parse(std::string_view text) {
  COHOST_ASSIGN_OR_RETURN(const boost::json::object root, ParseJsonObject(text));
  return FromJson(root);
}

absl::StatusOr<RuntimeConfig> RuntimeConfig::Read(const std::string& path) {
  COHOST_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(path, kLargest));
  absl::StatusOr<RuntimeConfig> config = Parse(text);
  if (config.ok()) return config;
  return Annotate(config.status(), absl::StrCat("'", path, "'"));
}

const FrameworkReference* RuntimeConfig::Find(std::string_view framework) const {
  for (const FrameworkReference& reference : frameworks) {
    if (reference.name == framework) return &reference;
  }
  return nullptr;
}

FrameworkVersions ResolveFrameworks(const RuntimeConfig& config, const DotnetInstallation& dotnet) {
  FrameworkVersions versions;
  for (const FrameworkReference& reference : config.frameworks) {
    const auto installed = dotnet.frameworks.find(reference.name);
    if (installed == dotnet.frameworks.end()) continue;
    if (auto version = reference.Resolve(installed->second)) {
      versions.insert_or_assign(reference.name, *std::move(version));
    }
  }
  return versions;
}

}  // namespace cohost::supervisor
