// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/import_plan.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/system/file.h"
#include "supervisor/config/deployment_loader.h"
#include "supervisor/config/deployment_writer.h"
#include "supervisor/ctl/exchange/exchange_failure.h"
#include "supervisor/ctl/exchange/host_deployment.h"
#include "supervisor/ctl/exchange/imported_deployment.h"

namespace cohost::supervisor {
namespace {

namespace v1 = admin::v1;

// As the loader takes it.
constexpr Bytes kMaxFile = MiB(128);

using Problem = std::optional<Failure>;

// One plan under way, step by step; the first failure ends it.
class Planning {
 public:
  Planning(int archive, const ImportRequest& request, AdminClient& client)
      : archive_(archive), request_(request), client_(client) {}

  std::variant<ImportPlan, Failure> Run() {
    for (const auto step : {&Planning::ReadContents, &Planning::AskHost, &Planning::FindFiles,
                            &Planning::ReadOwnFile, &Planning::MakeNew}) {
      if (Problem problem = (this->*step)()) return *std::move(problem);
    }
    return std::move(plan_);
  }

 private:
  Problem ReadContents() {
    auto contents = ReadArchive(archive_, nullptr);
    if (!contents.ok()) return LocalFailure(Annotate(contents.status(), request_.archive));
    plan_.contents = *std::move(contents);
    return std::nullopt;
  }

  Problem AskHost() {
    v1::Status status;
    grpc::Status call = client_.stub().GetStatus(ContextFor(request_.timeout).get(),
                                                 v1::GetStatusRequest(), &status);
    if (call.ok()) call = FetchDeployment(client_.stub(), request_.timeout, &in_force_);
    if (!call.ok()) return CallFailure(call, client_.socket());
    plan_.revision = in_force_.revision();
    plan_.deployment_file = status.deployment_file();
    plan_.folder = request_.folder;
    if (plan_.folder.empty()) {
      const size_t slash = plan_.deployment_file.rfind('/');
      plan_.folder = absl::StrCat(plan_.deployment_file.substr(0, slash), "/imported");
    }
    return std::nullopt;
  }

  // What is not in the archive must be in the host's store.
  Problem FindFiles() {
    std::map<std::string, std::string> stored;
    v1::ListModulesRequest request;
    do {
      v1::ListModulesResponse page;
      const grpc::Status call =
          client_.stub().ListModules(ContextFor(request_.timeout).get(), request, &page);
      if (!call.ok()) return CallFailure(call, client_.socket());
      for (const v1::Module& module : page.modules()) stored[module.hash()] = module.path();
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    const FileList& list = plan_.contents.list;
    const auto missing = MissingFiles(
        list, [&](const ArchivedFile& file) { return stored.contains(file.name.hash); });
    if (!missing.empty()) {
      return Failure{
          ExitCode::kWrongCall,
          absl::StrCat("neither ", request_.archive, " nor this host has\n  ",
                       absl::StrJoin(missing, "\n  "),
                       "\nnothing was changed; export with --modules brings them along")};
    }
    for (const ArchivedFile& file : list.files) {
      if (!file.included) plan_.stored[file.name.hash] = stored[file.name.hash];
    }
    return std::nullopt;
  }

  // For its `host:`, which stays, and for what it includes.
  Problem ReadOwnFile() {
    absl::StatusOr<std::string> text = ReadRegularFile(plan_.deployment_file, kMaxFile);
    if (!text.ok()) return LocalFailure(text.status());
    plan_.text_before = *std::move(text);
    LoadOptions options;
    // Its modules are of no interest, so they may be gone.
    options.formatted = true;
    LoadResult loaded = LoadDeployment(plan_.deployment_file, options);
    if (!loaded.deployment) {
      return Failure{ExitCode::kWrongCall,
                     absl::StrCat(Render(loaded.errors.front()),
                                  "\nthe host's own deployment file has errors; put it right "
                                  "first, since its host: section stays")};
    }
    own_ = loaded.deployment->host;
    plan_.includes.assign(loaded.files.begin() + 1, loaded.files.end());
    return std::nullopt;
  }

  Problem MakeNew() {
    const auto deployment = AdaptDeployment(plan_.contents, own_, plan_.folder, request_.archive);
    if (!deployment.ok()) return LocalFailure(deployment.status());
    plan_.text = FormatDeployment(*deployment);
    plan_.services = deployment->services.size();
    LoadOptions options;
    options.formatted = true;
    const LoadResult before =
        ParseDeployment(in_force_.deployment(), "the deployment in force", options);
    if (!before.deployment) {
      return Failure{ExitCode::kNoHost, absl::StrCat(Render(before.errors.front()),
                                                     "\ncohostctl and host are of different "
                                                     "versions")};
    }
    // As the host will read it: with its own options.
    options.runtime_dir = before.deployment->host.runtime_dir;
    options.state_dir = before.deployment->host.state_dir;
    options.port_offset = static_cast<uint16_t>(in_force_.port_offset());
    const LoadResult after = ParseDeployment(plan_.text, request_.archive, options);
    if (!after.deployment) {
      return Failure{ExitCode::kWrongCall,
                     absl::StrCat(Render(after.errors.front()),
                                  "\nthe archive's deployment does not fit this host")};
    }
    const auto files = FileListOf(in_force_);
    if (!files.ok()) return LocalFailure(files.status());
    plan_.difference = DifferenceBetween(*before.deployment, HashesOf(*files), *after.deployment,
                                         HashesOf(plan_.contents.list));
    return std::nullopt;
  }

  // Set in the constructor, never changed.
  const int archive_;
  const ImportRequest& request_;
  AdminClient& client_;
  // Filled step by step.
  ImportPlan plan_;
  v1::DeploymentPart in_force_;
  Host own_;
};

}  // namespace

std::variant<ImportPlan, Failure> PlanImport(int archive, const ImportRequest& request,
                                             AdminClient& client) {
  return Planning(archive, request, client).Run();
}

}  // namespace cohost::supervisor
