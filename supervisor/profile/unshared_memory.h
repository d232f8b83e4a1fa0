// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/units.h"
#include "supervisor/profile/process_maps.h"

// What services would take that share no worker: pure, no I/O.
namespace cohost::supervisor {

// One service in a worker of its own; when it could not be started, why.
struct UnsharedSample {
  std::string service;
  absl::Status status;
  // Memory of the process: anonymous pages, and what it shares with nobody but the supervisor.
  uint64_t own = 0;
  // Resident pages of files, as if nobody else had them.
  uint64_t files = 0;
};

struct UnsharedMemory {
  std::vector<UnsharedSample> samples;
  uint32_t services = 0;  // that run now, and that the figures below are for
  uint32_t workers = 0;   // that they run in now
  uint64_t present = 0;   // PSS of these workers
  // The mean of the samples, for each service.
  uint64_t own = 0;
  // Every file that a sample or a present worker maps once, with the most pages that one of them
  // has: one copy of each file on the host, as the page cache has it.
  uint64_t files_once = 0;
  // The mean of the samples, for each service: every service with a copy of every file that its
  // worker maps, its program's and libraries' too, as in an image of its own.
  uint64_t files_copied = 0;
};

UnsharedSample MakeUnsharedSample(std::string service, const ProcessMaps& maps);

// Fills in the three sums of `memory` from its samples; `files` are of samples and workers. Nothing
// when no sample is OK.
void ScaleUnshared(const FilePages& files, UnsharedMemory& memory);

}  // namespace cohost::supervisor
