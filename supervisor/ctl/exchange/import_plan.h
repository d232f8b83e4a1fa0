// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "supervisor/ctl/admin_client.h"
#include "supervisor/ctl/exchange/archive/archive_reader.h"
#include "supervisor/ctl/exchange/deployment_difference.h"
#include "supervisor/ctl/failure.h"

namespace cohost::supervisor {

struct ImportRequest {
  std::string archive;  // its name, for messages
  std::string folder;   // absolute; empty: "imported" beside the host's deployment file
  absl::Duration timeout;
};

// What an import would do. Plain values.
struct ImportPlan {
  ArchiveContents contents;
  // Of this host, what is in force.
  uint64_t revision = 0;
  std::string deployment_file;
  std::string text_before;            // the file, as it is on the disk
  std::vector<std::string> includes;  // further files that it reads, and the new one does not
  // The new one.
  std::string text;
  std::string folder;
  size_t services = 0;
  DeploymentDifference difference;
  // Files that are not in the archive: where this host's store has them, by hash.
  std::map<std::string, std::string> stored;
};

// Reads the archive, the host and its deployment file, and changes nothing. A file that neither the
// archive nor the host's store has is a failure that names all of them.
std::variant<ImportPlan, Failure> PlanImport(int archive, const ImportRequest& request,
                                             AdminClient& client);

}  // namespace cohost::supervisor
