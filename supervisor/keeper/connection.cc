// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/connection.h"

#include <utility>

namespace cohost::supervisor {

void Connection::Close() {
  socket_.Reset();
  queue_.clear();
  queue_.shrink_to_fit();
  retry_soon_ = false;
}

void Connection::Send(const KeeperMessage& message, SharedDescriptors descriptors) {
  if (!open()) return;
  absl::StatusOr<std::string> bytes =
      EncodeKeeperMessage(message, descriptors == nullptr ? 0 : descriptors->size());
  // Every part of our messages is limited far below the limit of the whole: nothing to send means
  // that a limit in protocol.h was raised without thought. The peer's request runs into its limit.
  if (!bytes.ok()) return;
  queue_.push_back({*std::move(bytes), std::move(descriptors)});
  Flush();
}

void Connection::Flush() {
  retry_soon_ = false;
  while (open() && !queue_.empty()) {
    std::vector<int> numbers;
    if (queue_.front().descriptors != nullptr) {
      for (const UniqueFd& fd : *queue_.front().descriptors) numbers.push_back(fd.get());
    }
    const absl::Status status = SendMessage(socket_.get(), queue_.front().bytes, numbers);
    if (absl::IsUnavailable(status)) return;
    if (absl::IsResourceExhausted(status)) {
      retry_soon_ = true;
      return;
    }
    // Any other failure means that the peer is gone: the end of the stream is about to be read, and
    // what was queued for it has no reader.
    queue_.pop_front();
  }
}

}  // namespace cohost::supervisor
