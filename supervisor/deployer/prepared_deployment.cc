// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/prepared_deployment.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/deployer/service_preparer.h"
#include "supervisor/deployer/service_verdict.h"
#include "supervisor/deployer/worker_identity.h"
#include "supervisor/modules/signing/trusted_keys.h"

namespace cohost::supervisor {
namespace {

ConfigProblem Problem(std::string key_path, const absl::Status& status) {
  return {"", 0, 0, std::move(key_path), std::string(status.message())};
}

// Of all services, each once.
std::vector<std::pair<std::string, StoredKind>> SourcesOf(const Deployment& deployment) {
  std::set<std::pair<std::string, StoredKind>> sources;
  for (const Service& service : deployment.services) {
    if (service.runtime != Runtime::kNative) continue;
    sources.emplace(service.module, StoredKind::kModule);
    for (const auto& [name, path] : service.data_images) {
      sources.emplace(path, StoredKind::kDataImage);
    }
  }
  return {sources.begin(), sources.end()};
}

// Keys that cannot be used are problems, whether a group requires them or not.
TrustedKeys ReadKeys(const std::map<std::string, std::string>& files,
                     std::vector<ConfigProblem>& problems) {
  std::vector<TrustedKeys::Problem> unusable;
  TrustedKeys keys = TrustedKeys::Read(files, &unusable);
  for (const TrustedKeys::Problem& key : unusable) {
    problems.push_back(Problem(absl::StrCat("host.signing_keys.", key.name), key.status));
  }
  return keys;
}

// When the files are in the store: it looks at the stored copies.
std::map<std::string, ContentSigners> SurveySigners(
    TrustedKeys keys, const std::string& store, const std::vector<const PreparedService*>& services,
    std::vector<std::string>& remarks) {
  if (keys.empty()) return {};
  SignerSurvey survey(std::move(keys), store);
  for (const PreparedService* service : services) {
    for (const UsedFile& file : FilesOf(*service)) survey.Look(file.source, file.stored);
  }
  remarks.insert(remarks.end(), survey.remarks().begin(), survey.remarks().end());
  return survey.TakeSigners();
}

void Configure(const Compiling& compiling, const Host& host, const DotnetRuntime& dotnet,
               const ProcessIdentity& identity) {
  if (compiling.compiler == nullptr) return;
  compiling.compiler->Configure({.precompilation = host.precompilation,
                                 .crossgen = host.crossgen,
                                 .state_dir = host.state_dir,
                                 .dotnet_root = dotnet.installation.root,
                                 .identity = identity});
}

bool NeedsDotnet(const Service& service) { return service.runtime == Runtime::kDotnet; }

// All services of one deployment.
class DeploymentPreparer {
 public:
  DeploymentPreparer(ModuleStore& store, const Deployment& deployment, bool goes_on,
                     Compiling compiling, PreparedDeployment& prepared,
                     std::vector<ConfigProblem>& problems)
      : store_(store),
        deployment_(deployment),
        goes_on_(goes_on),
        compiling_(compiling),
        prepared_(prepared),
        problems_(problems),
        batch_(store),
        trees_(store, deployment.host.state_dir),
        libraries_(trees_) {
    if (!goes_on) batch_.ReadAhead(SourcesOf(deployment));
    const auto& services = deployment.services;
    const auto first = std::find_if(services.begin(), services.end(), NeedsDotnet);
    if (first == services.end()) return;
    dotnet_ = FindDotnetOf(deployment.host);
    if (dotnet_.ok()) {
      prepared.dotnet_root = dotnet_->installation.root;
      Configure(compiling, deployment.host, *dotnet_, prepared.default_identity);
    } else if (goes_on) {
      prepared.remarks.push_back(MissingDotnet(dotnet_.status(), first->name).message);
    } else {
      problems.push_back(MissingDotnet(dotnet_.status(), first->name));
    }
  }

  // The service as it is to run: as the deployment says, or as it is held.
  PreparedService Prepare(const Service& service, const HeldService* held) {
    if (held == nullptr) return FromSources(service);
    return held->replaced ? PrepareReplaced(service, *held) : PrepareKept(service, *held);
  }

  absl::Status Commit() { return batch_.Commit(); }

 private:
  PreparedService FromSources(const Service& service) {
    return Preparer(problems_).Prepare(service, FileOrigin::kSources, {}, PlaceOf(service));
  }

  PreparedService FromStore(const Service& service, const ServiceFiles& files,
                            std::vector<ConfigProblem>& missing) {
    const FileOrigin origin = goes_on_ ? FileOrigin::kStoreAsItRuns : FileOrigin::kStore;
    return Preparer(missing).Prepare(service, origin, files, PlaceOf(service));
  }

  ServicePreparer Preparer(std::vector<ConfigProblem>& problems) {
    return ServicePreparer({store_, batch_, trees_, libraries_, &dotnet_,
                            deployment_.host.state_dir, compiling_, prepared_.remarks, problems});
  }

  PreparedService PrepareReplaced(const Service& service, const HeldService& held) {
    PreparedService said = FromSources(service);
    if (SourceFingerprint(said) != *held.replaced) return said;
    std::vector<ConfigProblem> missing;
    PreparedService out = FromStore(held.service, held.files, missing);
    if (missing.empty()) {
      prepared_.held.insert(service.name);
      return out;
    }
    prepared_.remarks.push_back(absl::StrCat("service '", service.name,
                                             "' runs as the deployment file says, not as it was "
                                             "deployed: ",
                                             missing.front().message));
    return said;
  }

  PreparedService PrepareKept(const Service& service, const HeldService& held) {
    std::vector<ConfigProblem> missing;
    PreparedService out = FromStore(service, held.files, missing);
    if (missing.empty()) return out;
    if (!goes_on_) {
      problems_.insert(problems_.end(), missing.begin(), missing.end());
      return out;
    }
    // Somebody has emptied the store: better the sources than nothing.
    prepared_.remarks.push_back(absl::StrCat(
        "service '", service.name, "' is read from its files again: ", missing.front().message));
    return FromSources(service);
  }

  // By placement.h, rule 1.
  ServicePlace PlaceOf(const Service& service) const {
    for (const Group& group : deployment_.groups) {
      const bool matches = std::find(group.match.begin(), group.match.end(),
                                     service.load.load_class) != group.match.end();
      if (service.group ? *service.group == group.name : matches) {
        return {{prepared_.identities.at(group.name).uid}, group.policy.dotnet};
      }
    }
    return {{prepared_.default_identity.uid}, deployment_.group_defaults.dotnet};
  }

  ModuleStore& store_;
  const Deployment& deployment_;
  const bool goes_on_;
  const Compiling compiling_;
  PreparedDeployment& prepared_;
  std::vector<ConfigProblem>& problems_;
  ModuleStore::Batch batch_;
  ApplicationTrees trees_;
  SharedLibraries libraries_;
  // Asked only for services that need it.
  absl::StatusOr<DotnetRuntime> dotnet_ = absl::NotFoundError("not looked for");
};

}  // namespace

std::vector<ConfigProblem> ToProblems(const std::vector<ConfigError>& errors) {
  std::vector<ConfigProblem> problems;
  problems.reserve(errors.size());
  for (const ConfigError& error : errors) {
    problems.push_back({error.file, static_cast<uint32_t>(error.line),
                        static_cast<uint32_t>(error.column), error.key_path, error.message});
  }
  return problems;
}

ServicePreparation PrepareService(const Service& service, ModuleStore& store,
                                  const ServiceSurroundings& surroundings,
                                  const ServiceFiles* files) {
  ServicePreparation out;
  TrustedKeys keys = ReadKeys(surroundings.host.signing_keys, out.problems);
  ModuleStore::Batch batch(store);
  ApplicationTrees trees(store, surroundings.host.state_dir);
  const absl::StatusOr<DotnetRuntime> dotnet =
      NeedsDotnet(service) ? FindDotnetOf(surroundings.host)
                           : absl::StatusOr<DotnetRuntime>(absl::NotFoundError("not looked for"));
  if (NeedsDotnet(service) && !dotnet.ok()) {
    out.problems.push_back(MissingDotnet(dotnet.status(), service.name));
  }
  if (dotnet.ok()) {
    Configure(surroundings.compiling, surroundings.host, *dotnet, surroundings.compiler_identity);
  }
  SharedLibraries libraries(trees);
  const ServicePreparer preparer({store, batch, trees, libraries, &dotnet,
                                  surroundings.host.state_dir, surroundings.compiling, out.remarks,
                                  out.problems});
  PreparedService prepared =
      preparer.Prepare(service, files == nullptr ? FileOrigin::kSources : FileOrigin::kStore,
                       files == nullptr ? ServiceFiles() : *files, surroundings.place);
  if (!out.problems.empty()) return out;
  if (absl::Status status = batch.Commit(); !status.ok()) {
    out.problems.push_back(Problem("host.state_dir", Annotate(status, "module store")));
    return out;
  }
  out.signers = SurveySigners(std::move(keys), store.folder(), {&prepared}, out.remarks);
  // Ignoring a failure: it is only a cache, and the next reload tries again and tells.
  (void)store.SaveIndex();
  out.prepared = std::move(prepared);
  return out;
}

Preparation PrepareDeployment(Deployment deployment, ModuleStore& store, bool as_root,
                              const HeldServices& held, Compiling compiling) {
  Preparation out;
  auto prepared = std::make_unique<PreparedDeployment>();
  const auto resolve = [&](const GroupPolicy& policy, const std::string& key) {
    auto identity = ResolveIdentity(policy.identity, as_root);
    if (identity.ok()) return *std::move(identity);
    out.problems.push_back(Problem(key + ".identity", identity.status()));
    return ProcessIdentity{};
  };
  prepared->default_identity = resolve(deployment.group_defaults, "group_defaults");
  for (const Group& group : deployment.groups) {
    prepared->identities.emplace(group.name,
                                 resolve(group.policy, absl::StrCat("groups.", group.name)));
  }
  TrustedKeys keys;
  if (!held.goes_on) keys = ReadKeys(deployment.host.signing_keys, out.problems);
  DeploymentPreparer preparer(store, deployment, held.goes_on, compiling, *prepared, out.problems);
  for (Service& service : deployment.services) {
    const auto found = held.services.find(service.name);
    PreparedService ready =
        preparer.Prepare(service, found == held.services.end() ? nullptr : &found->second);
    service = ready.service;
    prepared->services.emplace(service.name, std::move(ready));
  }
  if (!out.problems.empty()) return out;
  if (absl::Status status = preparer.Commit(); !status.ok()) {
    out.problems.push_back(Problem("host.state_dir", Annotate(status, "module store")));
    return out;
  }
  std::vector<const PreparedService*> services;
  for (const auto& [name, service] : prepared->services) services.push_back(&service);
  prepared->signers = SurveySigners(std::move(keys), store.folder(), services, prepared->remarks);
  if (absl::Status saved = store.SaveIndex(); !saved.ok()) {
    // Only a cache: the next start reads the files again.
    prepared->remarks.push_back(absl::StrCat("module store: ", AsAbsl(AsStd(saved.message()))));
  }
  prepared->deployment = std::move(deployment);
  out.prepared = std::move(prepared);
  return out;
}

void AddTreeSources(const PreparedDeployment& prepared, std::vector<ListedFile>& files) {
  std::map<std::string, std::string> sources;
  for (const auto& [name, service] : prepared.services) {
    if (service.tree == nullptr) continue;
    for (UsedFile& file : FilesOf(service)) {
      sources.emplace(std::move(file.stored.hash), std::move(file.source));
    }
  }
  for (ListedFile& file : files) {
    const auto source = sources.find(file.file.hash);
    if (file.source.empty() && source != sources.end()) file.source = source->second;
  }
}

}  // namespace cohost::supervisor
