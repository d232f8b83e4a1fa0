// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/strikes.h"

#include <signal.h>

namespace cohost::supervisor {
namespace {

constexpr char kDied[] = "died while loading";

}  // namespace

bool Strikes::NoteDeath(uint64_t service_id, uint64_t revision, bool hung,
                        const ExitRecord& record) {
  // The kernel's kill for memory, and ours of a service that hung, are the service's own.
  const bool unexplained = record.signal.has_value() && !record.out_of_memory && !hung &&
                           (*record.signal == SIGKILL || *record.signal == SIGTERM);
  const auto [known, first] = strikes_.try_emplace(service_id);
  known->second.revision = revision;
  if (unexplained && first) return false;
  known->second.reason = hung ? "did not finish loading" : kDied;
  return true;
}

std::string Strikes::Against(const ServiceTarget& service) const {
  const auto strike = strikes_.find(service.id);
  if (strike == strikes_.end() || strike->second.revision != service.revision) return "";
  return strike->second.reason;
}

std::map<uint64_t, uint64_t> Strikes::Blamed() const {
  std::map<uint64_t, uint64_t> blamed;
  for (const auto& [service, strike] : strikes_) {
    if (!strike.reason.empty()) blamed[service] = strike.revision;
  }
  return blamed;
}

void Strikes::Restore(const std::map<uint64_t, uint64_t>& blamed) {
  for (const auto& [service, revision] : blamed) strikes_[service] = Strike{revision, kDied};
}

}  // namespace cohost::supervisor
