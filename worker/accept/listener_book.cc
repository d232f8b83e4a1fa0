// SPDX-License-Identifier: Apache-2.0
#include "worker/accept/listener_book.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace cohost::worker {

void ListenerBook::Add(uint64_t token, UniqueFd listener) {
  listeners_.try_emplace(token, std::move(listener));
}

absl::StatusOr<UniqueFd> ListenerBook::Duplicate(uint64_t token) const {
  const auto found = listeners_.find(token);
  if (found == listeners_.end()) {
    return absl::NotFoundError(absl::StrCat("listener ", token, " was not delivered"));
  }
  UniqueFd duplicate(::fcntl(found->second.get(), F_DUPFD_CLOEXEC, 0));
  if (!duplicate.valid()) return ErrnoStatus(errno, "fcntl(F_DUPFD_CLOEXEC)", "listener");
  return duplicate;
}

std::vector<uint64_t> ListenerBook::tokens() const {
  std::vector<uint64_t> tokens;
  tokens.reserve(listeners_.size());
  for (const auto& [token, listener] : listeners_) tokens.push_back(token);
  return tokens;
}

}  // namespace cohost::worker
