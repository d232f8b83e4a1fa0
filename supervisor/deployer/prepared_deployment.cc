// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/prepared_deployment.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/config/settings_secrets.h"
#include "supervisor/deployer/worker_identity.h"
#include "supervisor/modules/signing/trusted_keys.h"

namespace cohost::supervisor {
namespace {

ConfigProblem Problem(std::string key_path, const absl::Status& status) {
  return {"", 0, 0, std::move(key_path), std::string(status.message())};
}

// Length before content, so that no two different lists of fields read the same.
void Append(std::string& out, std::string_view field) {
  absl::StrAppend(&out, field.size(), ":");
  out.append(field);
}

void Append(std::string& out, absl::Duration duration) {
  Append(out, absl::FormatDuration(duration));
}

void Append(std::string& out, uint64_t number) { Append(out, absl::StrCat(number)); }

// The files of one service: from its sources, or from the store.
class FileSource {
 public:
  // `verify`: what comes from the store is read and compared with its hash.
  FileSource(ModuleStore& store, ModuleStore::Batch& batch, const ServiceFiles* files, bool verify)
      : store_(store), batch_(batch), files_(files), verify_(verify) {}

  absl::StatusOr<StoredFile> Module(const Service& service) const {
    if (files_ == nullptr) return batch_.Add(service.module, StoredKind::kModule);
    return Stored(files_->module, StoredKind::kModule);
  }
  absl::StatusOr<StoredFile> Image(const std::string& name, const std::string& source) const {
    if (files_ == nullptr) return batch_.Add(source, StoredKind::kDataImage);
    const auto hash = files_->data_images.find(name);
    if (hash == files_->data_images.end()) {
      return absl::NotFoundError(absl::StrCat("no file is kept for '", name, "'"));
    }
    return Stored(hash->second, StoredKind::kDataImage);
  }

 private:
  absl::StatusOr<StoredFile> Stored(const std::string& hash, StoredKind kind) const {
    COHOST_ASSIGN_OR_RETURN(StoredFile file, store_.Find(hash, kind));
    if (!verify_) return file;
    const absl::StatusOr<Bytes> size = CheckStoredFile(file.path, {hash, kind});
    if (size.ok()) return file;
    return Annotate(size.status(), absl::StrCat("'", file.path, "'"));
  }

  ModuleStore& store_;
  ModuleStore::Batch& batch_;
  const ServiceFiles* files_;
  const bool verify_;
};

PreparedService PrepareFiles(const Service& service, const FileSource& files,
                             std::vector<std::string>& remarks,
                             std::vector<ConfigProblem>& problems) {
  const std::string key = absl::StrCat("services.", service.name);
  PreparedService out;
  out.service = service;
  if (auto module = files.Module(service); module.ok()) {
    out.module = *std::move(module);
    for (const std::string& warning : out.module.warnings) {
      remarks.push_back(absl::StrCat(service.module, ": ", warning));
    }
  } else {
    problems.push_back(Problem(key + ".module", module.status()));
  }
  for (const auto& [name, path] : service.data_images) {
    if (auto image = files.Image(name, path); image.ok()) {
      out.data_images.emplace(name, *std::move(image));
    } else {
      problems.push_back(Problem(absl::StrCat(key, ".data_images.", name), image.status()));
    }
  }
  if (auto settings = ResolveSecrets(service.settings); settings.ok()) {
    out.settings = *std::move(settings);
  } else {
    problems.push_back(Problem(key + ".settings", settings.status()));
  }
  out.revision = ServiceRevision(out);
  return out;
}

// Of all services, each once.
std::vector<std::pair<std::string, StoredKind>> SourcesOf(const Deployment& deployment) {
  std::set<std::pair<std::string, StoredKind>> sources;
  for (const Service& service : deployment.services) {
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

// The service as it is to run: as the deployment says, or as it is held.
PreparedService PrepareHeld(const Service& service, const HeldService* held, bool goes_on,
                            ModuleStore& store, ModuleStore::Batch& batch,
                            PreparedDeployment& prepared, std::vector<ConfigProblem>& problems) {
  const auto from_sources = [&] {
    return PrepareFiles(service, FileSource(store, batch, nullptr, false), prepared.remarks,
                        problems);
  };
  if (held == nullptr) return from_sources();
  std::vector<ConfigProblem> missing;
  const auto from_store = [&](const Service& what) {
    return PrepareFiles(what, FileSource(store, batch, &held->files, !goes_on), prepared.remarks,
                        missing);
  };
  if (held->replaced) {
    PreparedService said = from_sources();
    if (SourceFingerprint(said) != *held->replaced) return said;
    PreparedService out = from_store(held->service);
    if (missing.empty()) {
      prepared.held.insert(service.name);
      return out;
    }
    prepared.remarks.push_back(absl::StrCat("service '", service.name,
                                            "' runs as the deployment file says, not as it was "
                                            "deployed: ",
                                            missing.front().message));
    return said;
  }
  PreparedService out = from_store(service);
  if (missing.empty()) return out;
  if (!goes_on) {
    problems.insert(problems.end(), missing.begin(), missing.end());
    return out;
  }
  // Somebody has emptied the store: better the sources than nothing.
  prepared.remarks.push_back(absl::StrCat(
      "service '", service.name, "' is read from its files again: ", missing.front().message));
  return from_sources();
}

}  // namespace

std::vector<UsedFile> FilesOf(const PreparedService& service) {
  std::vector<UsedFile> files = {{"module", service.service.module, service.module}};
  for (const auto& [name, image] : service.data_images) {
    files.push_back(
        {absl::StrCat("data_images.", name), service.service.data_images.at(name), image});
  }
  return files;
}

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
                                  const std::map<std::string, std::string>& signing_keys,
                                  const ServiceFiles* files) {
  ServicePreparation out;
  TrustedKeys keys = ReadKeys(signing_keys, out.problems);
  ModuleStore::Batch batch(store);
  PreparedService prepared =
      PrepareFiles(service, FileSource(store, batch, files, true), out.remarks, out.problems);
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
                              const HeldServices& held) {
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
  ModuleStore::Batch batch(store);
  if (!held.goes_on) batch.ReadAhead(SourcesOf(deployment));
  for (Service& service : deployment.services) {
    const auto found = held.services.find(service.name);
    PreparedService ready =
        PrepareHeld(service, found == held.services.end() ? nullptr : &found->second, held.goes_on,
                    store, batch, *prepared, out.problems);
    service = ready.service;
    prepared->services.emplace(service.name, std::move(ready));
  }
  if (!out.problems.empty()) return out;
  if (absl::Status status = batch.Commit(); !status.ok()) {
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

namespace {

// What a worker is not told: where the service is placed, and how its sockets are made.
void AppendPlace(const Service& service, std::string& text) {
  Append(text, service.group.value_or(""));
  Append(text, static_cast<uint64_t>(service.load.load_class));
  for (const double number : {service.load.requests_per_second, service.load.cpu}) {
    Append(text, absl::StrCat(number));
  }
  Append(text, service.load.memory.count);
  if (service.load.peak) {
    Append(text,
           absl::StrCat(service.load.peak->begin.minutes, "-", service.load.peak->end.minutes));
  }
  for (const Address& address : service.listen) {
    Append(text, uint64_t{address.mode});
    Append(text, address.owner.value_or(""));
    Append(text, static_cast<uint64_t>(address.backlog));
  }
}

uint64_t Fingerprint(const PreparedService& prepared, const Settings& settings,
                     const std::string& place) {
  const Service& service = prepared.service;
  std::string text = place;
  Append(text, service.name);
  Append(text, static_cast<uint64_t>(service.runtime));
  Append(text, prepared.module.hash);
  for (const auto& [name, image] : prepared.data_images) {
    Append(text, name);
    Append(text, image.hash);
  }
  for (const auto& [key, value] : settings) {
    Append(text, key);
    Append(text, value);
  }
  for (const Address& address : service.listen) Append(text, address.Key());
  for (const std::string& target : service.warmup) Append(text, target);
  const ServiceLimits& limits = service.limits;
  for (const uint64_t number :
       {uint64_t{limits.concurrency}, uint64_t{limits.queue}, uint64_t{limits.connections},
        limits.header_size.count, limits.body_size.count, limits.memory.count,
        static_cast<uint64_t>(service.instances), uint64_t{service.overlap},
        uint64_t{service.access_log}}) {
    Append(text, number);
  }
  for (const absl::Duration duration :
       {limits.request_timeout, limits.header_timeout, limits.io_timeout, limits.idle_timeout,
        service.health.interval, service.health.timeout}) {
    Append(text, duration);
  }
  Append(text, service.health.path);
  Sha256 hash;
  hash.Update(text);
  const Sha256Digest digest = hash.Finish();
  uint64_t revision = 0;
  std::memcpy(&revision, digest.data(), sizeof revision);
  // 0 means "none" in the protocols.
  return revision == 0 ? 1 : revision;
}

}  // namespace

uint64_t ServiceRevision(const PreparedService& service) {
  return Fingerprint(service, service.settings, "");
}

uint64_t SourceFingerprint(const PreparedService& service) {
  std::string place;
  AppendPlace(service.service, place);
  return Fingerprint(service, service.service.settings, place);
}

ServiceFiles HashesOf(const PreparedService& service) {
  ServiceFiles files;
  files.module = service.module.hash;
  for (const auto& [name, image] : service.data_images) files.data_images[name] = image.hash;
  return files;
}

}  // namespace cohost::supervisor
