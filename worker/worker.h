// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/system/unique_fd.h"
#include "boost/asio/io_context.hpp"
#include "worker/accept/acceptor.h"
#include "worker/accept/handover.h"
#include "worker/accept/listener_book.h"
#include "worker/control/control_server.h"
#include "worker/control/link.h"
#include "worker/control/segment_map.h"
#include "worker/dotnet/dotnet_runtime.h"
#include "worker/http/http_server.h"
#include "worker/loop/deadline_queue.h"
#include "worker/loop/fd_watcher.h"
#include "worker/loop/handler_pool.h"
#include "worker/loop/loop_inbox.h"
#include "worker/loop/loop_timer.h"
#include "worker/loop/thread_slots.h"
#include "worker/native/native_runtime.h"
#include "worker/roster.h"
#include "worker/services/internal_calls.h"
#include "worker/services/service_table.h"
#include "worker/worker_drain.h"
#include "worker/worker_parts.h"

namespace cohost::worker {

struct WorkerOptions {
  // How long a worker whose link was lost serves on before it drains and ends.
  absl::Duration orphan_time = absl::Seconds(30);
  // Where .NET is, and the managed part of the dotnet runtime.
  dotnet::DotnetOptions dotnet{};
};

// The worker: owns its parts, runs the I/O loop, and does what the link says. Its life is
// serving -> draining -> drained -> stopping, never back; the supervisor asks for each step, or the
// worker takes them by itself when its link is lost for orphan_time, or at SIGTERM. I/O thread
// only. It is made once and never destroyed: the process ends by EndProcess.
class Worker final : private LinkHandler {
 public:
  // `link` is a connected seqpacket socket, `signals` a signalfd.
  Worker(SegmentMap segment, UniqueFd link, UniqueFd signals, std::string binary_id, Log& log,
         WorkerOptions options);

  // Serves until the process ends; returns only when it could not begin.
  absl::Status Run();

 private:
  enum class Phase { kServing, kDraining, kDrained, kStopping };

  // LinkHandler
  void DescribeState(LinkMessage& state) override;
  absl::Status AddListener(uint64_t token, UniqueFd listener) override;
  absl::Status ReleaseListener(uint64_t token) override;
  absl::Status AddChannel(UniqueFd channel) override;
  absl::Status SetSuccessor(UniqueFd socket) override;
  absl::Status AddPredecessor(UniqueFd socket) override;
  absl::Status Rearm() override;
  absl::Status SetLogFile(UniqueFd file) override;
  absl::Status Drain(absl::Duration timeout) override;
  absl::Status Stop() override;
  void LinkLost(const absl::Status& why) override;

  void Serve(std::vector<AcceptedConnection> connections);
  void Adopt(IdleConnection connection);
  void OnStateChange(ServiceEntry& entry);
  void Settle();
  void OnDrained();
  void EndServices();
  void WaitForSignals();
  void ReadSignals();
  void ShowProgress();
  absl::StatusOr<std::unique_ptr<HostedService>> MakeHosted(const v1::AssignRequest& request,
                                                            ServiceEntry& entry);
  std::unique_ptr<HostedService> MakeNative(const v1::AssignRequest& request, ServiceEntry& entry);
  std::unique_ptr<HostedService> MakeDotnet(const v1::AssignRequest& request, ServiceEntry& entry);

  // Set in the constructor, never changed. In the order in which they depend on each other.
  const WorkerOptions options_;
  Log& log_;
  const SegmentMap segment_;
  boost::asio::io_context io_;
  ThreadSlots slots_;
  HandlerPool pool_;
  LoopInbox inbox_;
  DeadlineQueue deadlines_;
  ServiceTable table_;
  HttpServer http_;
  Acceptor acceptor_;
  InternalCalls calls_;
  WorkerParts parts_;
  native::NativeRuntime native_;
  dotnet::DotnetRuntime dotnet_;
  ListenerBook listeners_;
  Roster roster_;
  ControlServer control_;
  Link link_;
  UniqueFd signals_;
  FdWatcher signal_watcher_;
  LoopTimer progress_timer_;
  LoopTimer orphan_timer_;
  LoopTimer settle_timer_;

  Phase phase_ = Phase::kServing;
  // Nobody will ask for the stop that follows the drain: it is the worker's own.
  bool stop_when_drained_ = false;
  bool services_end_ = false;
  std::unique_ptr<HandoverSender> successor_;
  std::list<HandoverReceiver> predecessors_;
  uint64_t adopted_ = 0;
  uint64_t not_adopted_ = 0;
  std::unique_ptr<WorkerDrain> drain_;
};

}  // namespace cohost::worker
