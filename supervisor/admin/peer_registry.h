// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace cohost::supervisor {

// Who is behind each admin connection. gRPC names the peer of a handed-over descriptor "fd:N", so
// the uid of SO_PEERCRED is kept by that number. Thread-safe.
class PeerRegistry {
 public:
  void Add(int fd, uid_t uid);
  void Remove(int fd);
  // Of a call's peer(); unset for a peer that is not (or no longer) known.
  std::optional<uid_t> Find(std::string_view peer) const;

 private:
  mutable Mutex mutex_;
  std::map<int, uid_t> uids_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::supervisor
