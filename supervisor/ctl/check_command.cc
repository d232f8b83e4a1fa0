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
#include "supervisor/dotnet/folder_check.h"
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

void ShowText(const std::string& app, const Verdict& verdict, const Look& look, std::ostream& out) {
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
}

void ShowJson(const std::string& app, const Verdict& verdict, std::ostream& out) {
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
  out << Json(document, true);
}

absl::StatusOr<Verdict> Check(const std::string& app) {
  const char* root = std::getenv("DOTNET_ROOT");
  COHOST_ASSIGN_OR_RETURN(const DotnetRuntime runtime,
                          FindDotnetRuntime({.environment = root == nullptr ? "" : root}));
  Verdict verdict = CheckApplication(app, runtime);
  CheckFolder(app.substr(0, app.rfind('/')), verdict);
  return verdict;
}

}  // namespace

int RunCheckCommand(const Invocation& invocation, const Look& look, std::ostream& out,
                    std::ostream& errors) {
  const absl::StatusOr<std::string> app = MainAssembly(invocation.name);
  const absl::StatusOr<Verdict> verdict = app.ok() ? Check(*app) : app.status();
  if (!verdict.ok()) {
    errors << "cohostctl: " << verdict.status().message() << "\n";
    return static_cast<int>(ExitCode::kWrongCall);
  }
  if (invocation.output == OutputFormat::kJson) {
    ShowJson(*app, *verdict, out);
  } else {
    ShowText(*app, *verdict, look, out);
  }
  const bool runs = verdict->sharing() != Sharing::kRefused;
  return static_cast<int>(runs ? ExitCode::kDone : ExitCode::kWrongCall);
}

}  // namespace cohost::supervisor
