// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/config/deployment.h"
#include "supervisor/ctl/exchange/archive/archive_reader.h"

// A deployment of another host as one of this host. Pure but for what the loader looks up (users).
namespace cohost::supervisor {

// `own` is this host's part, as its own deployment file says it; `folder` is where the module files
// will be. Unix sockets below the other host's runtime_dir go below this one's. INVALID_ARGUMENT
// when the archived deployment has errors, or when its services and the archive's list of files do
// not fit; `name` is the archive's, for messages.
absl::StatusOr<Deployment> AdaptDeployment(const ArchiveContents& contents, const Host& own,
                                           const std::string& folder, const std::string& name);

// One line about a file: its name, and the services that use it.
std::string DescribeFile(const ArchivedFile& file, const FileList& list);

// Files of the list that are neither in the archive nor, as `has` says, on this host, one line
// each.
template <typename Has>
std::vector<std::string> MissingFiles(const FileList& list, Has has) {
  std::vector<std::string> missing;
  for (const ArchivedFile& file : list.files) {
    if (!file.included && !has(file)) missing.push_back(DescribeFile(file, list));
  }
  return missing;
}

}  // namespace cohost::supervisor
