// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/imported_deployment.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "supervisor/config/deployment_loader.h"
#include "supervisor/ctl/table.h"

namespace cohost::supervisor {
namespace {

// Services named in one line; the others are counted.
constexpr size_t kMostNames = 5;

absl::Status NoFit(const std::string& service) {
  return absl::InvalidArgumentError(absl::StrCat("its list of files does not fit service '",
                                                 Paint(service, Tone::kPlain, /*colour=*/false),
                                                 "'"));
}

// Gives services the paths of their files, and takes from `uses` what they use.
absl::Status SetPaths(const FileList& list, const std::string& folder,
                      std::map<std::pair<std::string, std::string>, std::string> uses,
                      Deployment& deployment) {
  const auto take = [&](const std::string& service, const std::string& image, std::string& path) {
    const auto use = uses.find({service, image});
    if (use == uses.end()) return false;
    path = absl::StrCat(folder, "/", list.Find(use->second)->name.ToString());
    uses.erase(use);
    return true;
  };
  for (Service& service : deployment.services) {
    if (!take(service.name, "", service.module)) return NoFit(service.name);
    for (auto& [image, path] : service.data_images) {
      if (!take(service.name, image, path)) return NoFit(service.name);
    }
  }
  return uses.empty() ? absl::OkStatus() : NoFit(uses.begin()->first.first);
}

}  // namespace

absl::StatusOr<Deployment> AdaptDeployment(const ArchiveContents& contents, const Host& own,
                                           const std::string& folder, const std::string& name) {
  LoadOptions options;
  options.formatted = true;
  options.runtime_dir = own.runtime_dir;
  options.state_dir = own.state_dir;
  LoadResult loaded =
      ParseDeployment(contents.deployment, absl::StrCat(name, ": deployment.yaml"), options);
  if (!loaded.deployment) return absl::InvalidArgumentError(Render(loaded.errors.front()));
  Deployment deployment = *std::move(loaded.deployment);
  deployment.host = own;
  std::map<std::pair<std::string, std::string>, std::string> uses;
  for (const ArchivedUse& use : contents.list.uses) uses[{use.service, use.data_image}] = use.hash;
  if (absl::Status set = SetPaths(contents.list, folder, std::move(uses), deployment); !set.ok()) {
    return set;
  }
  return deployment;
}

std::string DescribeFile(const ArchivedFile& file, const FileList& list) {
  std::vector<std::string> services;
  std::string source;
  size_t more = 0;
  for (const ArchivedUse& use : list.uses) {
    if (use.hash != file.name.hash) continue;
    if (source.empty()) source = use.source;
    if (services.size() < kMostNames) {
      services.push_back(use.service);
    } else {
      ++more;
    }
  }
  // Services and source are what an archive says.
  return Paint(
      absl::StrCat(file.name.ToString(), ", of ", absl::StrJoin(services, ", "),
                   more == 0 ? "" : absl::StrCat(" and ", more, " more"), " (", source, " there)"),
      Tone::kPlain, /*colour=*/false);
}

}  // namespace cohost::supervisor
