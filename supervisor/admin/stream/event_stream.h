// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "proto/admin.pb.h"
#include "supervisor/admin/host_control.h"
#include "supervisor/admin/stream/message_stream.h"

namespace cohost::supervisor {

// One WatchEvents call: history page by page at the client's pace, then new events as they happen.
// An event is sent once, in the order of ids. A client that falls kQueue new events behind is cut
// with RESOURCE_EXHAUSTED, so the host never waits for it; it goes on with after_id. Pages and new
// events arrive on the loop thread, which alone pushes; room is reported from gRPC's threads.
// `host` outlives the call.
class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  static constexpr size_t kQueue = 1024;
  static constexpr uint32_t kHistoryPage = 500;
  // Most events that a caller can ask for with `last`; they are read at once.
  static constexpr uint32_t kMostLast = 10000;

  // The call for gRPC. `request.last` is at most kMostLast.
  static grpc::ServerWriteReactor<admin::v1::Event>* Open(
      HostControl& host, const admin::v1::WatchEventsRequest& request);

 private:
  EventStream(HostControl& host, const admin::v1::WatchEventsRequest& request);

  void Start();
  void ReadPage(uint32_t last);
  void TakePage(const std::vector<HostEvent>& page, uint32_t asked);
  void TakeLive(const HostEvent& event);
  // False when the queue is full. An event that was sent before is not sent again.
  bool Push(admin::v1::Event event);
  void PushLive(admin::v1::Event event);

  // Set in the constructor, never changed.
  HostControl& host_;
  const bool follow_;
  const uint32_t last_;
  const std::shared_ptr<MessageStream<admin::v1::Event>> stream_;

  Mutex mutex_;
  std::function<void()> unsubscribe_ ABSL_GUARDED_BY(mutex_);
  // Greatest id that was pushed.
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_);
  // A page was shorter than asked for: all of the past was pushed.
  bool caught_up_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  // New events that came while history was read; the oldest fall out and are read as history.
  std::deque<admin::v1::Event> live_ ABSL_GUARDED_BY(mutex_);
  bool live_dropped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace cohost::supervisor
