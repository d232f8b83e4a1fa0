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

PreparedService PrepareService(const Service& service, ModuleStore::Batch& batch,
                               PreparedDeployment& prepared, std::vector<ConfigProblem>& problems) {
  const std::string key = absl::StrCat("services.", service.name);
  PreparedService out;
  out.service = service;
  if (auto module = batch.Add(service.module, StoredKind::kModule); module.ok()) {
    out.module = *std::move(module);
    for (const std::string& warning : out.module.warnings) {
      prepared.remarks.push_back(absl::StrCat(service.module, ": ", warning));
    }
  } else {
    problems.push_back(Problem(key + ".module", module.status()));
  }
  for (const auto& [name, path] : service.data_images) {
    if (auto image = batch.Add(path, StoredKind::kDataImage); image.ok()) {
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
void SurveySigners(TrustedKeys keys, const std::string& store, PreparedDeployment& prepared) {
  if (keys.empty()) return;
  SignerSurvey survey(std::move(keys), store);
  for (const auto& [name, service] : prepared.services) {
    for (const UsedFile& file : FilesOf(service)) survey.Look(file.source, file.stored);
  }
  prepared.remarks.insert(prepared.remarks.end(), survey.remarks().begin(), survey.remarks().end());
  prepared.signers = survey.TakeSigners();
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

Preparation PrepareDeployment(Deployment deployment, ModuleStore& store, bool as_root) {
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
  TrustedKeys keys = ReadKeys(deployment.host.signing_keys, out.problems);
  ModuleStore::Batch batch(store);
  for (const Service& service : deployment.services) {
    prepared->services.emplace(service.name,
                               PrepareService(service, batch, *prepared, out.problems));
  }
  if (!out.problems.empty()) return out;
  if (absl::Status status = batch.Commit(); !status.ok()) {
    out.problems.push_back(Problem("host.state_dir", Annotate(status, "module store")));
    return out;
  }
  SurveySigners(std::move(keys), store.folder(), *prepared);
  if (absl::Status saved = store.SaveIndex(); !saved.ok()) {
    // Only a cache: the next start reads the files again.
    prepared->remarks.push_back(absl::StrCat("module store: ", AsAbsl(AsStd(saved.message()))));
  }
  prepared->deployment = std::move(deployment);
  out.prepared = std::move(prepared);
  return out;
}

uint64_t ServiceRevision(const PreparedService& prepared) {
  const Service& service = prepared.service;
  std::string text;
  Append(text, service.name);
  Append(text, static_cast<uint64_t>(service.runtime));
  Append(text, prepared.module.hash);
  for (const auto& [name, image] : prepared.data_images) {
    Append(text, name);
    Append(text, image.hash);
  }
  for (const auto& [key, value] : prepared.settings) {
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

}  // namespace cohost::supervisor
