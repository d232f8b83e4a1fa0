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
#include "supervisor/modules/module_store.h"
#include "supervisor/modules/signing/signer_survey.h"
#include "supervisor/process/process_launcher.h"
#include "supervisor/state/saved_state.h"

namespace cohost::supervisor {

// What the deployment says about one service, made ready: files are in the store, secrets resolved.
struct PreparedService {
  Service service;
  StoredFile module;
  std::map<std::string, StoredFile> data_images;  // by the name that the module asks for
  Settings settings;                              // references resolved
  uint64_t revision = 0;                          // ServiceRevision of all above
};

// One file that the workers of a service map. Views into the PreparedService.
struct UsedFile {
  std::string key;  // of the service: "module", "data_images.words"
  const std::string& source;
  const StoredFile& stored;
};

// Every file that workers get for the service: there is no other list of them.
std::vector<UsedFile> FilesOf(const PreparedService& service);

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

// Publishes modules and images, finds out who signed them (whether that is enough is known when the
// services are placed: signature_requirement.h), resolves secrets and users. Blocks on disks and on
// the user database; touches nothing but the store. Any thread, one at a time.
Preparation PrepareDeployment(Deployment deployment, ModuleStore& store, bool as_root,
                              const HeldServices& held = {});

// One service alone; with `files` it gets those, which the store must have, instead of its sources.
// Problems have no file.
struct ServicePreparation {
  std::optional<PreparedService> prepared;
  std::map<std::string, ContentSigners> signers;  // as in PreparedDeployment
  std::vector<std::string> remarks;
  std::vector<ConfigProblem> problems;  // not empty: nothing is prepared
};
ServicePreparation PrepareService(const Service& service, ModuleStore& store,
                                  const std::map<std::string, std::string>& signing_keys,
                                  const ServiceFiles* files);

std::vector<ConfigProblem> ToProblems(const std::vector<ConfigError>& errors);

// Of everything that a worker is told about the service and of the content of its files: two
// services with the same number are the same to a worker. Stable over restarts and builds.
uint64_t ServiceRevision(const PreparedService& service);

// The same of what the deployment says, with references to secrets instead of secrets: another
// password is no other version of a service.
uint64_t SourceFingerprint(const PreparedService& service);

ServiceFiles HashesOf(const PreparedService& service);

}  // namespace cohost::supervisor
