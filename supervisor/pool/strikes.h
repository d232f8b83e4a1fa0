// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "supervisor/pool/generation/generation_id.h"
#include "supervisor/pool/pool_target.h"
#include "supervisor/process/process_launcher.h"

namespace cohost::supervisor {

// What is known against the services of a slot: those whose loading has killed a worker are not
// tried again until an operator says so or their revision changes. Loop thread only.
class Strikes {
 public:
  // How a worker died while it was loading a service of this revision. Returns whether the service
  // is blamed now: somebody's kill from outside says nothing about it, but must not happen twice.
  // `hung`: it was ended because the service did not finish loading.
  bool NoteDeath(uint64_t service_id, uint64_t revision, bool hung, const ExitRecord& record);
  // It was being loaded by a worker whose death nobody saw: what the first seen death makes two.
  void Suspect(uint64_t service_id) { strikes_.try_emplace(service_id); }
  void Forget(uint64_t service_id) { strikes_.erase(service_id); }

  // Why the service, in the target's revision, is not tried; empty: it is.
  std::string Against(const ServiceTarget& service) const;

  // For the next supervisor.
  std::map<uint64_t, uint64_t> Blamed() const;
  void Restore(const std::map<uint64_t, uint64_t>& blamed);

 private:
  struct Strike {
    uint64_t revision = 0;
    std::string reason;  // empty: not blamed
  };
  std::map<uint64_t, Strike> strikes_;
};

}  // namespace cohost::supervisor
