// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/peer_registry.h"

#include "absl/strings/numbers.h"
#include "base/strings.h"

namespace cohost::supervisor {

void PeerRegistry::Add(int fd, uid_t uid) {
  MutexLock lock(mutex_);
  uids_[fd] = uid;
}

void PeerRegistry::Remove(int fd) {
  MutexLock lock(mutex_);
  uids_.erase(fd);
}

std::optional<uid_t> PeerRegistry::Find(std::string_view peer) const {
  constexpr std::string_view kPrefix = "fd:";
  int fd = -1;
  if (peer.substr(0, kPrefix.size()) != kPrefix ||
      !absl::SimpleAtoi(AsAbsl(peer.substr(kPrefix.size())), &fd)) {
    return std::nullopt;
  }
  MutexLock lock(mutex_);
  const auto it = uids_.find(fd);
  if (it == uids_.end()) return std::nullopt;
  return it->second;
}

}  // namespace cohost::supervisor
