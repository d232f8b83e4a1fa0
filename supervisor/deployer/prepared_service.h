// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/config/deployment.h"
#include "supervisor/deployer/hosting.h"
#include "supervisor/modules/stored_file.h"
#include "supervisor/modules/tree/tree_manifest.h"
#include "supervisor/state/saved_state.h"

namespace cohost::supervisor {

// What the deployment says about one service, made ready: files are in the store, secrets resolved.
struct PreparedService {
  Service service;
  // kDotnet: the hash is the id of the application's tree, by which the store has the tree's
  // manifest; the path is that of the main assembly in the tree.
  StoredFile module;
  // kDotnet: the manifest. Shared, since a deployment is copied for every change of a service.
  std::shared_ptr<const TreeManifest> tree;
  // kDotnet: paths of libraries that it shares with others (shared_libraries.h), sorted.
  std::vector<std::string> shared_libraries;
  std::map<std::string, StoredFile> data_images;  // by the name that the module asks for
  Settings settings;                              // references resolved
  Settings environment;                           // kDotnet: the same
  Hosting hosting;                                // kDotnet
  uint64_t revision = 0;                          // ServiceRevision of all above
};

// One file that the workers of a service map.
struct UsedFile {
  std::string key;  // of the service: "module", "data_images.words", "app"
  std::string source;
  StoredFile stored;  // of a tree: the path is the one there
};

// Every file that workers get for the service: there is no other list of them. Of a tree without
// what is only signatures of its files (FILE.sig), and without seeds, which are data.
std::vector<UsedFile> FilesOf(const PreparedService& service);

// Hashes of all that the store has to keep for it.
std::vector<std::string> StoredHashesOf(const PreparedService& service);

// Of everything that a worker is told about the service and of the content of its files: two
// services with the same number are the same to a worker. Stable over restarts and builds.
uint64_t ServiceRevision(const PreparedService& service);

// The same of what the deployment says, with references to secrets instead of secrets: another
// password is no other version of a service.
uint64_t SourceFingerprint(const PreparedService& service);

ServiceFiles HashesOf(const PreparedService& service);

}  // namespace cohost::supervisor
