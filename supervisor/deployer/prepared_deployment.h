// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/admin/host_control.h"
#include "supervisor/config/config_error.h"
#include "supervisor/config/deployment.h"
#include "supervisor/config/deployment_loader.h"
#include "supervisor/deployer/application_compiler.h"
#include "supervisor/deployer/prepared_service.h"
#include "supervisor/deployer/service_place.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/modules/signing/signer_survey.h"
#include "supervisor/modules/tree/data_folder.h"
#include "supervisor/process/process_launcher.h"
#include "supervisor/state/saved_state.h"

namespace cohost::supervisor {

// A service that may run otherwise than the deployment says.
struct HeldService {
  Service service;
  ServiceFiles files;
  // Only while the deployment says what it said when this one replaced it (SourceFingerprint).
  // Unset: `files` are those of what the deployment says, whatever its sources are now.
  std::optional<uint64_t> replaced;
};
struct HeldServices {
  std::map<std::string, HeldService> services;  // by name
  // All of it was in force a moment ago, under another supervisor: who signed it was asked then.
  bool goes_on = false;
};

// A deployment with everything done that may fail or wait for a disk. Plain values.
struct PreparedDeployment {
  // As it is in force: held services are in it as they run.
  Deployment deployment;
  std::map<std::string, PreparedService> services;    // by name
  std::map<std::string, ProcessIdentity> identities;  // by name of a declared group
  ProcessIdentity default_identity;                   // of derived groups
  // Where .NET is; empty: there is none, or no service needs it.
  std::string dotnet_root;
  // Who signed the files, by the hash of the stored copy; empty without host.signing_keys.
  std::map<std::string, ContentSigners> signers;
  // Names of those that run as they are held, not as the deployment said.
  std::set<std::string> held;
  // Module warnings, one line each.
  std::vector<std::string> remarks;
};

// Either a deployment or what is wrong with it.
struct Preparation {
  std::unique_ptr<PreparedDeployment> prepared;
  std::vector<ConfigProblem> problems;  // not empty: nothing is prepared
};

// Publishes modules, images and applications, finds out who signed them (whether that is enough is
// known when the services are placed: signature_requirement.h), resolves secrets and users. Blocks
// on disks and on the user database; touches nothing but the store, trees, and what data folders
// lack. Any thread, one at a time.
Preparation PrepareDeployment(Deployment deployment, ModuleStore& store, bool as_root,
                              const HeldServices& held = {}, Compiling compiling = {});

// What is around a service that is prepared alone.
struct ServiceSurroundings {
  Host host;
  ServicePlace place;
  Compiling compiling{};
  ProcessIdentity compiler_identity{};
};

// One service alone; with `files` it gets those, which the store must have, instead of its sources.
// Problems have no file.
struct ServicePreparation {
  std::optional<PreparedService> prepared;
  std::map<std::string, ContentSigners> signers;  // as in PreparedDeployment
  std::vector<std::string> remarks;
  std::vector<ConfigProblem> problems;  // not empty: nothing is prepared
};
ServicePreparation PrepareService(const Service& service, ModuleStore& store,
                                  const ServiceSurroundings& surroundings,
                                  const ServiceFiles* files);

// Says of listed files that came with an application's folder where they came from: one place of
// each. The store knows that of single files only.
void AddTreeSources(const PreparedDeployment& prepared, std::vector<ListedFile>& files);

std::vector<ConfigProblem> ToProblems(const std::vector<ConfigError>& errors);

}  // namespace cohost::supervisor
