// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/format/link_protocol.h"
#include "base/system/seqpacket.h"
#include "base/system/unique_fd.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/posix/stream_descriptor.hpp"
#include "supervisor/loop/timers.h"

namespace cohost::supervisor {

// The supervisor's end of a worker's link (base/format/link_protocol.h). It sends in order, at most
// kWindow messages ahead of the worker's acknowledgements and kMaxQueued in all, and never waits.
// A worker that breaks the format, answers what nobody asked, or leaves a message unanswered for
// kAnswerLimit has lost its link; OnLinkLost is then the last call. Loop thread only; loop, timers,
// clock and observer outlive it. Ending it closes this process's descriptor only: the keeper's
// duplicate keeps the link alive.
class WorkerLink {
 public:
  using Done = std::function<void(absl::Status)>;

  class Observer {
   public:
    virtual ~Observer() = default;
    // The answer to a hello.
    virtual void OnLinkState(const LinkMessage& state) = 0;
    virtual void OnServiceState(const LinkServiceState& state) = 0;
    virtual void OnDrained() = 0;
    // OUT_OF_RANGE: the worker closed it, most likely by its end.
    virtual void OnLinkLost(const absl::Status& why) = 0;
  };

  // Few enough for the smallest socket buffer and the limit of descriptors in flight.
  static constexpr size_t kWindow = 32;
  // More than three listeners for each of the 1,024 services that a worker can have.
  static constexpr size_t kMaxQueued = 4096;
  // Long, since a busy machine is no fault of a worker; a hung one is found by probes before.
  static constexpr absl::Duration kAnswerLimit = absl::Seconds(30);

  WorkerLink(boost::asio::io_context& loop, Timers& timers, const Clock& clock, UniqueFd socket,
             std::string binary_id, Observer& observer);
  ~WorkerLink();
  WorkerLink(const WorkerLink&) = delete;
  WorkerLink& operator=(const WorkerLink&) = delete;

  // Starts to read, and asks for the full state.
  void SendHello();
  // Descriptors are duplicated, so the caller may close its own at once. `done` gets the worker's
  // answer, or ABORTED when the link is lost before.
  void SendListener(uint64_t token, int listener, Done done);
  void ReleaseListener(uint64_t token, Done done);
  void SendChannel(int channel, Done done);
  void SendSuccessor(int socket, Done done);
  void SendPredecessor(int socket, Done done);
  void SendLogFile(int file, Done done);
  void SendRearm(Done done);
  void SendDrain(absl::Duration timeout, Done done);
  // Unanswered: the worker exits.
  void SendStop();

  bool lost() const { return !socket_.is_open(); }

 private:
  struct Outgoing {
    uint64_t sequence = 0;
    std::string bytes;
    UniqueFd descriptor;
    Done done;
  };
  struct Unanswered {
    Done done;  // null: a hello
    SteadyTime sent;
  };

  void Send(LinkMessage message, int descriptor, Done done);
  void SendPlain(LinkType type, int descriptor, Done done);
  void Flush();
  void WaitUntilWritable();
  void WaitUntilReadable();
  void ReceiveAll();
  void Receive(const Message& message);
  void ReceiveAck(const LinkMessage& ack);
  void ArmAnswerTimer();
  void Lose(const absl::Status& why);

  // Set in the constructor, never changed.
  const Clock& clock_;
  const std::string binary_id_;
  Observer& observer_;
  // Loop thread only.
  boost::asio::posix::stream_descriptor socket_;
  // Begins at the time of day of the machine's run, so no two supervisors use a number twice.
  uint64_t last_sequence_;
  bool heard_ = false;  // our first hello is answered
  bool waiting_writable_ = false;
  std::deque<Outgoing> queue_;
  std::map<uint64_t, Unanswered> unanswered_;  // sent, by sequence: oldest first
  Timer answer_timer_;
  Timer retry_timer_;
  // Ends with this object; handlers that are still queued in the loop look at it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cohost::supervisor
