// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "boost/asio/io_context.hpp"
#include "supervisor/config/deployment.h"
#include "supervisor/deployer/prepared_deployment.h"
#include "supervisor/state/state.h"

namespace cohost::supervisor {

// A service as some revision had it.
struct EarlierVersion {
  ServiceChange change;
  Service service;
};

// A deployment as it was in force, with the files of its services.
struct EarlierDeployment {
  Deployment deployment;
  HeldServices files;
};

// The deployment of a revision; nothing when this version of Cohost cannot read it.
std::optional<Deployment> ParseKept(const StateRevision& revision);

// What the state keeps of earlier revisions, for going back to them. Loop thread only; answers come
// on the loop thread, never inside the call. State and loop outlive it and its answers.
class EarlierVersions {
 public:
  template <typename T>
  using Done = std::function<void(absl::StatusOr<T>)>;

  EarlierVersions(State& state, boost::asio::io_context& loop) : state_(state), loop_(loop) {}

  // The service as it was in `revision`; with 0, as it was before it got `fingerprint` (that of the
  // version in force). NOT_FOUND when no such version is kept, FAILED_PRECONDITION when it cannot
  // be read any more.
  void Find(const std::string& service, uint64_t revision, uint64_t fingerprint,
            Done<EarlierVersion> done) const;
  // Errors as above.
  void Read(uint64_t revision, Done<EarlierDeployment> done) const;

 private:
  void ReadService(const ServiceChange& change, const Done<EarlierVersion>& done) const;

  State& state_;
  boost::asio::io_context& loop_;
};

}  // namespace cohost::supervisor
