// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/format/link_protocol.h"
#include "base/system/seqpacket.h"
#include "base/system/unique_fd.h"
#include "boost/asio/io_context.hpp"
#include "worker/loop/fd_watcher.h"

namespace cohost::worker {

// What the worker does at the messages of its link. Called on the I/O thread. A status that is
// returned becomes the code and text of the acknowledgement.
class LinkHandler {
 public:
  virtual ~LinkHandler() = default;

  // Fills in the answer to a hello: draining, listener_tokens and services.
  virtual void DescribeState(LinkMessage& state) = 0;
  // `listener` is known to be a listening stream socket. A token that is there already is OK.
  virtual absl::Status AddListener(uint64_t token, UniqueFd listener) = 0;
  virtual absl::Status ReleaseListener(uint64_t token) = 0;
  // `channel` is known to be a unix stream socket, and is not blocking.
  virtual absl::Status AddChannel(UniqueFd channel) = 0;
  virtual absl::Status SetSuccessor(UniqueFd socket) = 0;
  virtual absl::Status AddPredecessor(UniqueFd socket) = 0;
  virtual absl::Status Rearm() = 0;
  virtual absl::Status SetLogFile(UniqueFd file) = 0;
  virtual absl::Status Drain(absl::Duration timeout) = 0;
  virtual absl::Status Stop() = 0;
  // The link is over, by its end (OUT_OF_RANGE) or by a fault of the peer; the last call.
  virtual void LinkLost(const absl::Status& why) = 0;
};

// The worker's end of its link (base/format/link_protocol.h): receives, checks and acknowledges
// each message, and sends states. I/O thread only. The handler outlives it. It reads until the link
// is lost; a peer that does not read is a lost link once kMaxQueued messages wait for it.
class Link {
 public:
  static constexpr size_t kMaxQueued = 4096;

  Link(boost::asio::io_context& io, UniqueFd socket, std::string binary_id, LinkHandler& handler);

  void Start();
  void SendServiceState(const LinkServiceState& state);
  void SendDrained();

 private:
  void WaitForMessage();
  void ReceiveAll();
  void Receive(Message message);
  void Answer(const LinkMessage& message, std::vector<UniqueFd> descriptors);
  absl::Status Dispatch(const LinkMessage& message, std::vector<UniqueFd> descriptors);
  void Acknowledge(uint64_t sequence, const absl::Status& status);
  void SendState(uint64_t sequence);
  void Send(const LinkMessage& message);
  void Flush();
  void Lose(const absl::Status& why);

  // Set in the constructor, never changed.
  const std::string binary_id_;
  LinkHandler& handler_;

  UniqueFd socket_;                   // not valid: lost
  std::optional<FdWatcher> watcher_;  // as long as socket_ is valid
  std::deque<std::string> unsent_;
};

}  // namespace cohost::worker
