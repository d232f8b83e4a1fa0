// SPDX-License-Identifier: Apache-2.0
//
// How idle keep-alive connections go from a draining worker to its successor: over a SOCK_SEQPACKET
// socketpair that both got from the supervisor, so that nobody's death in between loses any.
//
// A message is 24 bytes, little endian, with one descriptor, the connection:
//   u32 magic "CHND", u16 version (1), u16 reserved (0), u64 service_id, u64 revision
// The service id and not the revision decides who serves it on: a successor may have a newer one.
// A receiver that meets anything else closes what came and the socket; the sender then closes the
// connections that it could not hand over, as a drain without a successor does.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/system/unique_fd.h"
#include "boost/asio/io_context.hpp"
#include "worker/loop/fd_watcher.h"

namespace cohost::worker {

// A connection between two requests: nothing of it is read or owed.
struct IdleConnection {
  uint64_t service_id = 0;
  uint64_t revision = 0;
  UniqueFd socket;
};

// The draining worker's side. I/O thread only. Connections that wait when it is destroyed, or when
// the successor is gone, are closed.
class HandoverSender {
 public:
  HandoverSender(boost::asio::io_context& io, UniqueFd socket);
  ~HandoverSender();

  void Send(IdleConnection connection);
  // Calls `done` once, at once or later, when no connection waits any more: each was taken by the
  // kernel, or closed because the successor is gone.
  void WhenEmpty(std::function<void()> done);
  uint64_t sent() const { return sent_; }

 private:
  void Flush();
  void TellIfEmpty();

  UniqueFd socket_;                   // not valid: the successor is gone
  std::optional<FdWatcher> watcher_;  // as long as socket_ is valid
  std::deque<IdleConnection> waiting_;
  std::function<void()> when_empty_;
  uint64_t sent_ = 0;
};

// The successor's side. I/O thread only.
class HandoverReceiver {
 public:
  // `adopt` gets each connection.
  HandoverReceiver(boost::asio::io_context& io, UniqueFd socket,
                   std::function<void(IdleConnection)> adopt);
  ~HandoverReceiver();

  // Receives until the end. `ended` is called once, last: OK when the predecessor has closed its
  // side; it may destroy the receiver.
  void Start(std::function<void(absl::Status)> ended);

  // Connections that the kernel dropped because this process was at its descriptor limit.
  uint64_t lost() const { return lost_; }

 private:
  void Wait();
  void ReceiveAll();
  void End(const absl::Status& why);

  // Set in the constructor, never changed.
  const std::function<void(IdleConnection)> adopt_;

  UniqueFd socket_;
  std::optional<FdWatcher> watcher_;
  std::function<void(absl::Status)> ended_;
  uint64_t lost_ = 0;
};

}  // namespace cohost::worker
