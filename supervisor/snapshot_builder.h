// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "supervisor/deployer/deployer.h"
#include "supervisor/listen/listener_set.h"
#include "supervisor/modules/stored_file.h"
#include "supervisor/profile/process_sampler.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// The newest figures of every process, by the name of the sample. Loop thread only.
class ProcessFigures {
 public:
  // Names of the two supervising processes; workers are "worker/<group>/<slot>/<generation>".
  static constexpr char kSupervisor[] = "supervisor";
  static constexpr char kKeeper[] = "keeper";
  static std::string WorkerName(const WorkerView& worker);

  // Replaces what is known by the samples; those of processes that are gone are forgotten.
  void Update(std::vector<ProcessSample> samples);
  // Fills memory, CPU and threads of all processes of the snapshot.
  void Fill(HostSnapshot& snapshot) const;

  // What is to be measured.
  static std::vector<SampledProcess> Processes(const HostSnapshot& snapshot);

 private:
  struct Figures {
    ProcessMemoryView memory;
    absl::Duration cpu;
    uint32_t threads = 0;
  };
  const Figures* Find(const std::string& name) const;

  std::map<std::string, Figures> figures_;
};

// Adds what the deployment in force says: services with their addresses and accept queues, groups
// with the reasons of placement, modules. Then the pool and the figures fill in the rest. Loop
// thread only.
void FillDeployment(const Deployer& deployer, const ListenerSet& listeners,
                    const std::vector<ListedFile>& modules, HostSnapshot& snapshot);

}  // namespace cohost::supervisor
