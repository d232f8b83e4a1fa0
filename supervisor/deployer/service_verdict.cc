// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/service_verdict.h"

#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "supervisor/dotnet/application_check.h"

namespace cohost::supervisor {

absl::StatusOr<DotnetRuntime> FindDotnetOf(const Host& host) {
  const char* environment = std::getenv("DOTNET_ROOT");
  return FindDotnetRuntime(
      {.configured = host.dotnet_root, .environment = environment == nullptr ? "" : environment});
}

ConfigProblem MissingDotnet(const absl::Status& status, const std::string& service) {
  return {"", 0, 0, "host.dotnet.root",
          absl::StrCat("service '", service, "' has the runtime dotnet, and ", status.message())};
}

ServiceVerdict JudgeService(const Service& service, const std::string& app,
                            const DotnetRuntime& runtime) {
  ServiceVerdict out;
  const Verdict verdict = CheckApplication(app, runtime);
  const std::optional<Isolation>& chosen = service.dotnet.isolation;
  out.hosting.isolation = chosen.value_or(
      verdict.Of(Finding::Weight::kSolo).empty() ? Isolation::kShared : Isolation::kSolo);
  out.hosting.frameworks = runtime.Usual();
  for (const auto& [name, version] : verdict.frameworks) {
    const auto shared = out.hosting.frameworks.find(name);
    if (shared != out.hosting.frameworks.end()) shared->second = version;
  }
  const auto remark = [&](const std::string& text) {
    out.remarks.push_back(absl::StrCat("service '", service.name, "': ", text));
  };
  for (const Finding& finding : verdict.findings) {
    switch (finding.weight) {
      case Finding::Weight::kRefused:
        out.problems.push_back(
            {"", 0, 0, absl::StrCat("services.", service.name, ".app"), finding.Text()});
        break;
      case Finding::Weight::kSolo:
        if (chosen == Isolation::kSolo) break;
        if (chosen == Isolation::kShared) {
          remark(absl::StrCat("it shares a worker as `isolation` says, though ", finding.Text()));
          break;
        }
        if (out.hosting.solo_because.empty()) out.hosting.solo_because = finding.reason;
        remark(absl::StrCat("it gets a worker of its own: ", finding.Text()));
        break;
      case Finding::Weight::kWarning:
        remark(finding.Text());
        break;
      case Finding::Weight::kNote:
        if (service.instances == Instances::kAll) remark(finding.Text());
        break;
    }
  }
  return out;
}

}  // namespace cohost::supervisor
