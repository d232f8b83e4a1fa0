// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/earlier_versions.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "boost/asio/post.hpp"
#include "supervisor/config/deployment_loader.h"

namespace cohost::supervisor {

namespace {

using Changes = std::map<std::string, ServiceChange>;

const Service* FindService(const Deployment& deployment, const std::string& name) {
  for (const Service& service : deployment.services) {
    if (service.name == name) return &service;
  }
  return nullptr;
}

absl::Status Unreadable(uint64_t revision) {
  return absl::FailedPreconditionError(
      absl::StrCat("revision ", revision,
                   " cannot be in force any more: this version of Cohost does not read it"));
}

absl::StatusOr<EarlierDeployment> Assemble(const absl::StatusOr<StateRevision>& revision,
                                           const absl::StatusOr<Changes>& changes) {
  if (!revision.ok()) return revision.status();
  if (!changes.ok()) return changes.status();
  std::optional<Deployment> text = ParseKept(*revision);
  if (!text) return Unreadable(revision->revision);
  EarlierDeployment earlier;
  for (const Service& service : text->services) {
    const auto change = changes->find(service.name);
    if (change == changes->end()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the version of service '", service.name, "' in revision ", revision->revision,
          " is not kept any more: only the last ", kKeptChanges, " of each service are"));
    }
    earlier.files.services[service.name] = {service, change->second.files, std::nullopt};
  }
  earlier.deployment = *std::move(text);
  return earlier;
}

}  // namespace

std::optional<Deployment> ParseKept(const StateRevision& revision) {
  LoadOptions options;
  options.formatted = true;
  return ParseDeployment(revision.deployment, absl::StrCat("revision ", revision.revision), options)
      .deployment;
}

void EarlierVersions::Find(const std::string& service, uint64_t revision, uint64_t fingerprint,
                           Done<EarlierVersion> done) const {
  const auto pick = [*this, service, revision, fingerprint,
                     done](const absl::StatusOr<std::vector<ServiceChange>>& changes) {
    if (!changes.ok()) return done(changes.status());
    const auto wanted = [&](const ServiceChange& change) {
      return !change.files.module.empty() &&
             (revision == 0 ? change.fingerprint != fingerprint : change.revision <= revision);
    };
    const auto change = std::find_if(changes->begin(), changes->end(), wanted);
    if (change != changes->end()) return ReadService(*change, done);
    done(absl::NotFoundError(absl::StrCat("no earlier version of '", service,
                                          "' is kept; `cohostctl history ", service,
                                          "` shows those that are")));
  };
  state_.ReadChanges(service, kKeptChanges,
                     [&loop = loop_, pick](absl::StatusOr<std::vector<ServiceChange>> changes) {
                       boost::asio::post(loop,
                                         [pick, changes = std::move(changes)] { pick(changes); });
                     });
}

void EarlierVersions::ReadService(const ServiceChange& change,
                                  const Done<EarlierVersion>& done) const {
  const auto take = [change, done](const absl::StatusOr<StateRevision>& revision) {
    if (!revision.ok()) return done(revision.status());
    const std::optional<Deployment> text = ParseKept(*revision);
    const Service* service = text ? FindService(*text, change.service) : nullptr;
    if (service == nullptr) return done(Unreadable(revision->revision));
    done(EarlierVersion{change, *service});
  };
  state_.ReadRevision(
      change.revision, [&loop = loop_, take](absl::StatusOr<StateRevision> revision) {
        boost::asio::post(loop, [take, revision = std::move(revision)] { take(revision); });
      });
}

void EarlierVersions::Read(uint64_t revision, Done<EarlierDeployment> done) const {
  // In the order of the state's thread, so the second answer comes last.
  auto text = std::make_shared<absl::StatusOr<StateRevision>>(absl::UnknownError("not read"));
  state_.ReadRevision(revision,
                      [text](absl::StatusOr<StateRevision> read) { *text = std::move(read); });
  state_.ReadChangesAt(
      revision, [&loop = loop_, text, done = std::move(done)](absl::StatusOr<Changes> changes) {
        boost::asio::post(
            loop, [text, done, changes = std::move(changes)] { done(Assemble(*text, changes)); });
      });
}

}  // namespace cohost::supervisor
