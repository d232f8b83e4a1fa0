// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/check_command.h"

#include <google/protobuf/struct.pb.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/ctl/failure.h"
#include "supervisor/ctl/json_text.h"
#include "supervisor/ctl/table.h"
#include "supervisor/dotnet/application_check.h"
#include "supervisor/dotnet/application_libraries.h"
#include "supervisor/dotnet/folder_check.h"
#include "supervisor/dotnet/library_verdicts.h"
#include "supervisor/dotnet/worker_frameworks.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kConfigEnding = ".runtimeconfig.json";

// The main assembly of a published folder: the one beside whose name a runtimeconfig.json stands.
absl::StatusOr<std::string> MainAssemblyIn(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    const std::string path = each->path().string();
    if (!path.ends_with(kConfigEnding)) continue;
    found.push_back(absl::StrCat(path.substr(0, path.size() - kConfigEnding.size()), ".dll"));
  }
  if (error) return absl::NotFoundError(absl::StrCat("'", folder, "': ", error.message()));
  if (found.size() == 1) return found.front();
  return absl::InvalidArgumentError(
      found.empty()
          ? absl::StrCat("'", folder, "' is no published application: it has no *",
                         AsAbsl(kConfigEnding))
          : absl::StrCat("'", folder,
                         "' has several applications, name one: ", absl::StrJoin(found, ", ")));
}

absl::StatusOr<std::string> MainAssembly(const std::string& name) {
  std::error_code error;
  const std::string path = std::filesystem::absolute(name, error).lexically_normal().string();
  if (error) return absl::NotFoundError(absl::StrCat("'", name, "': ", error.message()));
  if (std::filesystem::is_directory(path, error)) return MainAssemblyIn(path);
  if (!std::filesystem::is_regular_file(path, error)) {
    return absl::NotFoundError(absl::StrCat("there is no file '", path, "'"));
  }
  if (path.ends_with(".dll")) return path;
  return absl::InvalidArgumentError(
      absl::StrCat("'", path,
                   "' is no .dll: name the main assembly; an application of one file "
                   "(PublishSingleFile) brings its own host, publish it without"));
}

std::pair<const char*, Tone> NameOf(Finding::Weight weight) {
  switch (weight) {
    case Finding::Weight::kNote:
      return {"note", Tone::kPlain};
    case Finding::Weight::kWarning:
      return {"warning", Tone::kWarning};
    case Finding::Weight::kSolo:
      return {"solo", Tone::kWarning};
    case Finding::Weight::kRefused:
      return {"refused", Tone::kBad};
  }
  return {"", Tone::kPlain};
}

// What the check says of an application.
struct CheckedApplication {
  Verdict verdict;
  std::vector<LibraryVerdict> libraries;
};

// How a library can be shared (groups[].dotnet.share_libraries).
std::pair<const char*, Tone> NameOf(LibraryStanding standing) {
  switch (standing) {
    case LibraryStanding::kReviewed:
      return {"reviewed", Tone::kGood};
    case LibraryStanding::kListed:
    case LibraryStanding::kAnswered:
      return {"can be listed", Tone::kPlain};
    case LibraryStanding::kOwn:
      return {"own", Tone::kWarning};
  }
  return {"", Tone::kPlain};
}

void ShowLibraries(const std::vector<LibraryVerdict>& libraries, const Look& look,
                   std::ostream& out) {
  if (libraries.empty()) return;
  out << "  libraries that applications of a worker can share (dotnet.share_libraries):\n";
  for (const LibraryVerdict& library : libraries) {
    const auto [name, tone] = NameOf(library.standing);
    out << "    " << Paint(name, tone, look.colour) << ": " << library.name;
    if (!library.package_version.empty()) out << " " << library.package_version;
    if (!library.reason.empty()) out << ": " << library.reason;
    out << "\n";
  }
}

void ShowText(const std::string& app, const CheckedApplication& checked, const Look& look,
              std::ostream& out) {
  const Verdict& verdict = checked.verdict;
  const Sharing sharing = verdict.sharing();
  const Tone tone = sharing == Sharing::kShared    ? Tone::kGood
                    : sharing == Sharing::kRefused ? Tone::kBad
                                                   : Tone::kWarning;
  out << app << ": " << Paint(SharingName(sharing), tone, look.colour) << "\n";
  for (const Finding& finding : verdict.findings) {
    const auto [name, finding_tone] = NameOf(finding.weight);
    out << "  " << Paint(name, finding_tone, look.colour) << ": " << finding.reason << "\n";
    if (!finding.remedy.empty()) out << "    " << finding.remedy << "\n";
  }
  ShowLibraries(checked.libraries, look, out);
}

void ShowJson(const std::string& app, const CheckedApplication& checked, std::ostream& out) {
  const Verdict& verdict = checked.verdict;
  google::protobuf::Struct document;
  auto& fields = *document.mutable_fields();
  fields["app"].set_string_value(app);
  fields["verdict"].set_string_value(std::string(SharingName(verdict.sharing())));
  auto* findings = fields["findings"].mutable_list_value();
  for (const Finding& finding : verdict.findings) {
    auto& each = *findings->add_values()->mutable_struct_value()->mutable_fields();
    each["weight"].set_string_value(NameOf(finding.weight).first);
    each["reason"].set_string_value(finding.reason);
    each["remedy"].set_string_value(finding.remedy);
  }
  auto* libraries = fields["libraries"].mutable_list_value();
  for (const LibraryVerdict& library : checked.libraries) {
    auto& each = *libraries->add_values()->mutable_struct_value()->mutable_fields();
    each["name"].set_string_value(library.name);
    each["version"].set_string_value(library.package_version);
    each["sharing"].set_string_value(NameOf(library.standing).first);
    each["reason"].set_string_value(library.reason);
  }
  out << Json(document, true);
}

absl::StatusOr<CheckedApplication> Check(const std::string& app) {
  const char* root = std::getenv("DOTNET_ROOT");
  COHOST_ASSIGN_OR_RETURN(const DotnetRuntime runtime,
                          FindDotnetRuntime({.environment = root == nullptr ? "" : root}));
  CheckedApplication checked{CheckApplication(app, runtime), {}};
  CheckFolder(app.substr(0, app.rfind('/')), checked.verdict);
  // What cannot be read is said above.
  if (checked.verdict.sharing() == Sharing::kRefused) return checked;
  COHOST_ASSIGN_OR_RETURN(const std::vector<Library> libraries, ReadLibraries(app, runtime));
  // As if all were listed: what is not shared then is not shared at all.
  checked.libraries = JudgeLibraries(libraries, {{"", /*is_begin=*/true, ""}});
  return checked;
}

}  // namespace

int RunCheckCommand(const Invocation& invocation, const Look& look, std::ostream& out,
                    std::ostream& errors) {
  const absl::StatusOr<std::string> app = MainAssembly(invocation.name);
  const absl::StatusOr<CheckedApplication> checked = app.ok() ? Check(*app) : app.status();
  if (!checked.ok()) {
    errors << "cohostctl: " << checked.status().message() << "\n";
    return static_cast<int>(ExitCode::kWrongCall);
  }
  if (invocation.output == OutputFormat::kJson) {
    ShowJson(*app, *checked, out);
  } else {
    ShowText(*app, *checked, look, out);
  }
  const bool runs = checked->verdict.sharing() != Sharing::kRefused;
  return static_cast<int>(runs ? ExitCode::kDone : ExitCode::kWrongCall);
}

}  // namespace cohost::supervisor
