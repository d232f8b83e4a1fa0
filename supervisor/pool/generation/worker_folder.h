// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "absl/status/status.h"
#include "supervisor/pool/generation/generation_id.h"
#include "supervisor/process/process_launcher.h"

// A folder of one worker's own below PoolSettings::worker_folders, for sockets that a runtime makes
// by itself: .NET's diagnostics. The worker's user owns it and the supervisor's group may write it,
// nobody else may look into it. It goes with the worker, whatever the worker left in it.
namespace cohost::supervisor {

// Short, whatever the group's name is: a socket's path has at most 107 bytes.
std::string WorkerFolderPath(const std::string& parent, const GenerationId& id);

// INVALID_ARGUMENT when no socket of .NET fits below it.
absl::Status MakeWorkerFolder(const std::string& path, const ProcessIdentity& identity);

// With the files in it; OK when it is not there.
absl::Status RemoveWorkerFolder(const std::string& path);

// All below `parent` but those with these paths: left over from workers that ended while no
// supervisor was there.
absl::Status RemoveOtherWorkerFolders(const std::string& parent, const std::set<std::string>& kept);

}  // namespace cohost::supervisor
