// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/format/segment.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/system/unique_fd.h"
#include "worker/accept/accept_gate.h"
#include "worker/loop/thread_slots.h"

namespace cohost::worker {

struct AcceptedConnection {
  UniqueFd fd;  // non-blocking, close-on-exec
  uint64_t service_id = 0;
  // "127.0.0.1:45678", "[::1]:45678" or "unix".
  std::string peer;
  // The listener's token.
  uint64_t listener = 0;
};

// The text of a peer's address as AcceptedConnection has it.
std::string FormatPeer(const sockaddr_storage& address, socklen_t size);

// Accepts for every listener of the worker on one thread of its own: a level-triggered epoll with
// EPOLLEXCLUSIVE, so that one connection wakes one worker. At most 16 are accepted per listener and
// wake-up, only while the service has room, and handed over in one call per wake-up. Listeners are
// shared with other processes: they are never shut down and their flags never change. Every change
// of interest is EPOLL_CTL_DEL and ADD, since MOD on an exclusive entry is EINVAL. Out of
// descriptors (or memory) the thread lets go of all listeners for a while, so that siblings or the
// kernel's queue have the connections, logs one line and counts.
// Methods are thread-safe; effects come in the order of the calls. Stop() or the destructor joins.
class Acceptor {
 public:
  // Called on the accept thread with at least one connection; must not block.
  using HandOver = std::function<void(std::vector<AcceptedConnection>)>;

  struct Options {
    // How long listeners are let go of when accept fails for want of descriptors or memory.
    absl::Duration exhausted_pause = absl::Milliseconds(250);
    // At most one log line about that in this time.
    absl::Duration exhausted_log_interval = absl::Seconds(10);
  };

  // References outlive the acceptor. `header` gets accept_progress and
  // accept_errors.
  Acceptor(HandOver hand_over, SegmentHeader& header, ThreadSlots& slots, const Clock& clock,
           Log& log, Options options);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  absl::Status Start();

  // Accepts from `listener` for the service from now on. `listener` may be a duplicate that others
  // hold too; it must be listening and non-blocking. `token` is free to choose, unique.
  void Add(uint64_t token, UniqueFd listener, uint64_t service_id,
           std::shared_ptr<AcceptGate> gate);
  // Takes the listener out of epoll, closes it, then calls `done` (may be empty) on the accept
  // thread. After it no connection of this listener is handed over.
  void Remove(uint64_t token, std::function<void()> done);
  // The same for all listeners of a service; for drains.
  void RemoveService(uint64_t service_id, std::function<void()> done);
  // Stops and continues accepting for a service, keeping its listeners.
  void Pause(uint64_t service_id);
  void Resume(uint64_t service_id);
  // A service that had no room has some: its gate said so at TakeAway.
  void NoteRoom(uint64_t service_id);
  // Takes every active listener out of epoll and adds it again: when a sibling died after it was
  // woken and before it accepted, this worker is woken for what waits.
  void Rearm();

  // Closes all listeners and joins the thread.
  void Stop();

  // How often epoll_wait returned with a listener: the figure of the accept_wakeups benchmark.
  uint64_t wakeups() const { return wakeups_.load(std::memory_order_relaxed); }

 private:
  struct Listener;
  class Loop;

  void Send(std::function<void(Loop&)> command);

  // Set in the constructor, never changed.
  const HandOver hand_over_;
  SegmentHeader& header_;
  ThreadSlots& slots_;
  const Clock& clock_;
  Log& log_;
  const Options options_;

  std::atomic<uint64_t> wakeups_{0};

  // Set by Start.
  UniqueFd wake_;
  UniqueFd epoll_;
  std::thread thread_;

  Mutex mutex_;
  std::vector<std::function<void(Loop&)>> commands_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::worker
