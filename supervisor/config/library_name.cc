// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/library_name.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

bool IsPart(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(c) || more.find(c) != std::string_view::npos;
  });
}

absl::Status Wrong(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", AsAbsl(text), "' names no library: ", AsAbsl(why),
                   "; write NAME, NAME* or NAME/VERSION, as `Acme.Core` or `Serilog/4.3`"));
}

}  // namespace

absl::StatusOr<LibraryName> LibraryName::Parse(std::string_view text) {
  LibraryName parsed;
  const size_t slash = text.find('/');
  std::string_view name = text.substr(0, slash);
  if (slash != std::string_view::npos) {
    const std::string_view version = text.substr(slash + 1);
    if (version.empty() || !absl::ascii_isdigit(version[0]) || !IsPart(version, ".-+")) {
      return Wrong(text, "behind the '/' stands a version of its package");
    }
    parsed.version = std::string(version);
  }
  if (name.ends_with('*')) {
    parsed.is_begin = true;
    name.remove_suffix(1);
  }
  if (name.empty() && !parsed.is_begin) return Wrong(text, "it is empty");
  if (!IsPart(name, "._-")) return Wrong(text, "names have letters, digits, '.', '_' and '-'");
  if (absl::EndsWithIgnoreCase(AsAbsl(name), ".dll")) return Wrong(text, "leave .dll out");
  parsed.name = std::string(name);
  return parsed;
}

bool LibraryName::Names(std::string_view assembly) const {
  return is_begin ? absl::StartsWithIgnoreCase(AsAbsl(assembly), name)
                  : absl::EqualsIgnoreCase(AsAbsl(assembly), name);
}

bool LibraryName::Answers(std::string_view package_version) const {
  if (version.empty() || !package_version.starts_with(version)) return false;
  const std::string_view rest = package_version.substr(version.size());
  return rest.empty() || rest[0] == '.';
}

}  // namespace cohost::supervisor
