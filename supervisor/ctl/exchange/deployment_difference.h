// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/config/deployment.h"

// What one deployment makes of another, for a person who is asked. Pure.
namespace cohost::supervisor {

// Content hashes by service and data image; an empty image is the module.
using FileHashes = std::map<std::pair<std::string, std::string>, std::string>;

struct ServiceDifference {
  std::string name;
  // Of the module; empty where there is no such service.
  std::string hash_before;
  std::string hash_after;
  // What else differs, as keys of the deployment: "listen", "data_images.words".
  std::vector<std::string> keys;
  friend bool operator==(const ServiceDifference&, const ServiceDifference&) = default;
};

// Paths of files are no difference, only their content is. Names in the order of the alphabet.
struct DeploymentDifference {
  std::vector<ServiceDifference> added;
  std::vector<ServiceDifference> removed;
  std::vector<ServiceDifference> changed;
  std::vector<std::string> groups_added;
  std::vector<std::string> groups_removed;
  std::vector<std::string> groups_changed;
  bool grouping = false;
  bool group_defaults = false;

  bool empty() const;
};

// `host` is left out: it never changes.
DeploymentDifference DifferenceBetween(const Deployment& before, const FileHashes& files_before,
                                       const Deployment& after, const FileHashes& files_after);

// One line each: "+ orders  module 3f2a...", "- old", "~ catalog  module 3f2a... -> 9b1c...;
// listen".
std::string DifferenceText(const DeploymentDifference& difference);

}  // namespace cohost::supervisor
