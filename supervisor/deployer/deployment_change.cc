// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/deployment_change.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cohost::supervisor {

namespace {

ModuleRecord RecordOf(const StoredFile& file, const std::string& source,
                      const StateRevision& revision) {
  return {file.hash,        std::string(StoredKindName(file.kind)),
          file.size.count,  source,
          revision.applied, revision.uid};
}

const std::string& SourceOf(const Service& service) {
  return service.runtime == Runtime::kDotnet ? service.dotnet.app : service.module;
}

}  // namespace

void CompareDeployments(const PreparedDeployment* before, const PreparedDeployment& after,
                        ReloadOutcome& outcome) {
  if (before == nullptr) return;
  for (const auto& [name, service] : after.services) {
    const auto old = before->services.find(name);
    if (old == before->services.end()) {
      outcome.added.push_back(name);
    } else if (!(old->second.service == service.service) ||
               old->second.revision != service.revision) {
      outcome.changed.push_back(name);
    }
  }
  for (const auto& [name, service] : before->services) {
    if (!after.services.contains(name)) outcome.removed.push_back(name);
  }
}

std::vector<ServiceChange> ServiceChanges(const std::map<std::string, ServiceChange>& known,
                                          const PreparedDeployment& after,
                                          const std::vector<std::string>& changed,
                                          const StateRevision& revision) {
  std::vector<ServiceChange> changes;
  const auto add = [&](const std::string& name) -> ServiceChange& {
    ServiceChange& change = changes.emplace_back();
    change.service = name;
    change.revision = revision.revision;
    change.action = revision.action;
    change.time = revision.applied;
    change.uid = revision.uid;
    return change;
  };
  for (const auto& [name, service] : after.services) {
    const uint64_t fingerprint = SourceFingerprint(service);
    const auto old = known.find(name);
    if (old != known.end() && old->second.fingerprint == fingerprint &&
        std::find(changed.begin(), changed.end(), name) == changed.end()) {
      continue;
    }
    ServiceChange& change = add(name);
    change.fingerprint = fingerprint;
    change.files = HashesOf(service);
    change.source = SourceOf(service.service);
  }
  for (const auto& [name, change] : known) {
    if (!after.services.contains(name)) add(name);
  }
  return changes;
}

std::vector<ModuleRecord> ModuleRecords(const std::vector<ServiceChange>& changes,
                                        const PreparedDeployment& after,
                                        const StateRevision& revision) {
  std::map<std::string, ModuleRecord> records;
  for (const ServiceChange& change : changes) {
    const auto service = after.services.find(change.service);
    if (service == after.services.end()) continue;
    const PreparedService& prepared = service->second;
    records.try_emplace(prepared.module.hash,
                        RecordOf(prepared.module, SourceOf(prepared.service), revision));
    for (const auto& [name, image] : prepared.data_images) {
      records.try_emplace(image.hash,
                          RecordOf(image, prepared.service.data_images.at(name), revision));
    }
  }
  std::vector<ModuleRecord> list;
  list.reserve(records.size());
  for (auto& [hash, record] : records) list.push_back(std::move(record));
  return list;
}

std::string SummaryOf(const ReloadOutcome& outcome) {
  std::vector<std::string> parts;
  const std::pair<const std::vector<std::string>&, const char*> lists[] = {
      {outcome.added, "added"},
      {outcome.removed, "removed"},
      {outcome.changed, "changed"},
      {outcome.moved, "moved"}};
  for (const auto& [names, word] : lists) {
    if (!names.empty()) parts.push_back(absl::StrCat(names.size(), " ", word));
  }
  return parts.empty() ? "nothing changed" : absl::StrJoin(parts, ", ");
}

}  // namespace cohost::supervisor
