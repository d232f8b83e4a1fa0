// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/settings_secrets.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "base/units.h"

namespace cohost::supervisor {
namespace {

// Larger than any key or certificate chain.
constexpr Bytes kMaxSecret = KiB(64);

struct Reference {
  std::string_view scheme;
  std::string_view name;
};

// The reference between "${" and "}".
absl::StatusOr<Reference> ParseReference(std::string_view inside) {
  const size_t colon = inside.find(':');
  const Reference reference{inside.substr(0, colon),
                            colon == std::string_view::npos ? "" : inside.substr(colon + 1)};
  const bool known =
      reference.scheme == "env" || reference.scheme == "file" || reference.scheme == "credential";
  if (!known) {
    return absl::InvalidArgumentError(
        "a reference is ${env:NAME}, ${file:/path} or ${credential:NAME}; a plain ${ is written "
        "$${");
  }
  if (reference.name.empty()) return absl::InvalidArgumentError("a reference names nothing");
  if (reference.scheme == "file" && reference.name[0] != '/') {
    return absl::InvalidArgumentError("the path of a ${file:...} reference must be absolute");
  }
  // A credential is one file of one folder, never a way out of it.
  if (reference.scheme == "credential" &&
      (reference.name.find('/') != std::string_view::npos || reference.name == "..")) {
    return absl::InvalidArgumentError("the name of a ${credential:...} reference has no '/'");
  }
  return reference;
}

// Calls `resolve` for every reference of `value` and puts together what it returns.
template <typename Resolve>
absl::StatusOr<std::string> Expand(std::string_view value, Resolve resolve) {
  std::string expanded;
  while (!value.empty()) {
    const size_t dollar = value.find('$');
    expanded += value.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    value.remove_prefix(dollar);
    if (value.substr(0, 3) == "$${") {
      expanded += "${";
      value.remove_prefix(3);
    } else if (value.substr(0, 2) == "${") {
      const size_t end = value.find('}');
      if (end == std::string_view::npos) {
        return absl::InvalidArgumentError("a reference ${ without its }");
      }
      COHOST_ASSIGN_OR_RETURN(const Reference reference, ParseReference(value.substr(2, end - 2)));
      COHOST_ASSIGN_OR_RETURN(const std::string text, resolve(reference));
      expanded += text;
      value.remove_prefix(end + 1);
    } else {
      expanded += '$';
      value.remove_prefix(1);
    }
  }
  return expanded;
}

absl::StatusOr<std::string> ReadSecret(const std::string& path) {
  COHOST_ASSIGN_OR_RETURN(std::string content, ReadRegularFile(path, kMaxSecret));
  // Editors and `echo` end a file with a line end that is not part of the secret.
  if (!content.empty() && content.back() == '\n') content.pop_back();
  if (!content.empty() && content.back() == '\r') content.pop_back();
  return content;
}

absl::StatusOr<std::string> Resolve(const Reference& reference) {
  const std::string name(reference.name);
  if (reference.scheme == "file") return ReadSecret(name);
  if (reference.scheme == "credential") {
    const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
    if (folder == nullptr) {
      return absl::NotFoundError(
          absl::StrCat("credential '", name, "': CREDENTIALS_DIRECTORY is not set"));
    }
    return ReadSecret(absl::StrCat(folder, "/", name));
  }
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) {
    return absl::NotFoundError(absl::StrCat("environment variable '", name, "' is not set"));
  }
  return std::string(value);
}

}  // namespace

absl::Status CheckReferences(std::string_view value) {
  return Expand(value, [](const Reference&) -> absl::StatusOr<std::string> { return ""; }).status();
}

absl::StatusOr<Settings> ResolveSecrets(const Settings& settings) {
  Settings resolved;
  resolved.reserve(settings.size());
  for (const auto& [key, value] : settings) {
    absl::StatusOr<std::string> text = Expand(value, Resolve);
    if (!text.ok()) return Annotate(text.status(), absl::StrCat("setting '", key, "'"));
    resolved.emplace_back(key, *std::move(text));
  }
  return resolved;
}

}  // namespace cohost::supervisor
