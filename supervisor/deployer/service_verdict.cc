// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/service_verdict.h"

#include <cstdlib>
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
  const auto fail = [&](std::string_view key, std::string text) {
    out.problems.push_back(
        {"", 0, 0, absl::StrCat("services.", service.name, ".", AsAbsl(key)), std::move(text)});
  };
  const bool is_chosen = service.dotnet.isolation.has_value();
  for (const Finding& finding : CheckApplication(app, runtime).findings) {
    const std::string text = finding.Text();
    if (finding.weight == Finding::Weight::kRefused) {
      fail("app", text);
    } else if (finding.weight == Finding::Weight::kSolo && !is_chosen) {
      fail("isolation",
           absl::StrCat("write `isolation: solo` to give it a worker of its own: ", text,
                        "; or `isolation: shared` to run it beside others all the same"));
    } else if (finding.weight != Finding::Weight::kNote || service.instances == Instances::kAll) {
      out.remarks.push_back(absl::StrCat("service '", service.name, "': ", text));
    }
  }
  return out;
}

}  // namespace cohost::supervisor
