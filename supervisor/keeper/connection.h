// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/system/seqpacket.h"
#include "base/system/unique_fd.h"
#include "supervisor/keeper/protocol.h"

namespace cohost::supervisor {

// Descriptors that several messages and tables may refer to; closed with the last reference.
using SharedDescriptors = std::shared_ptr<const std::vector<UniqueFd>>;

// The keeper's end of the socketpair with one supervisor. Never waits: what the supervisor does not
// take yet is queued, and while the queue is long the keeper reads no further requests, so a
// supervisor that reads nothing costs a bounded amount of memory. Keeper's thread only.
class Connection {
 public:
  Connection() = default;
  explicit Connection(UniqueFd socket) : socket_(std::move(socket)) {}

  bool open() const { return socket_.valid(); }
  int socket() const { return socket_.get(); }
  void Close();

  // Sends or queues. Ignored when closed: the peer that asked is gone.
  void Send(const KeeperMessage& message, SharedDescriptors descriptors = nullptr);
  // Sends from the queue what the socket takes.
  void Flush();

  bool wants_to_write() const { return !queue_.empty(); }
  // The kernel refused descriptors in flight: no event says when it would take them, try again
  // soon.
  bool retry_soon() const { return retry_soon_; }
  bool has_room() const { return queue_.size() < kLongQueue; }

  absl::StatusOr<Message> Receive() { return ReceiveMessage(socket_.get()); }

 private:
  static constexpr size_t kLongQueue = 64;

  struct Outgoing {
    std::string bytes;
    SharedDescriptors descriptors;
  };

  UniqueFd socket_;
  std::deque<Outgoing> queue_;
  bool retry_soon_ = false;
};

}  // namespace cohost::supervisor
