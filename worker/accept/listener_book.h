// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"

namespace cohost::worker {

// The listeners that the supervisor has delivered, by token, until it takes them back. The accept
// thread works on duplicates of its own, so a service can be removed and assigned again without a
// second delivery. I/O thread only.
class ListenerBook {
 public:
  // A token that is there already keeps its first listener; `listener` is closed.
  void Add(uint64_t token, UniqueFd listener);
  void Release(uint64_t token) { listeners_.erase(token); }
  void Clear() { listeners_.clear(); }

  bool Has(uint64_t token) const { return listeners_.contains(token); }
  // NOT_FOUND for a token that was never delivered, RESOURCE_EXHAUSTED at the descriptor limit.
  absl::StatusOr<UniqueFd> Duplicate(uint64_t token) const;
  std::vector<uint64_t> tokens() const;

 private:
  std::map<uint64_t, UniqueFd> listeners_;
};

}  // namespace cohost::worker
