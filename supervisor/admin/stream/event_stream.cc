// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/stream/event_stream.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "supervisor/admin/messages.h"

namespace cohost::supervisor {

EventStream::EventStream(HostControl& host, const admin::v1::WatchEventsRequest& request)
    : host_(host),
      follow_(request.follow()),
      last_(request.last()),
      stream_(std::make_shared<MessageStream<admin::v1::Event>>(kQueue)),
      last_id_(request.after_id()) {}

grpc::ServerWriteReactor<admin::v1::Event>* EventStream::Open(
    HostControl& host, const admin::v1::WatchEventsRequest& request) {
  const std::shared_ptr<EventStream> self(new EventStream(host, request));
  self->stream_->OnRoom([weak = self->weak_from_this()] {
    if (const auto stream = weak.lock()) stream->ReadPage(0);
  });
  // Holds the stream as long as gRPC's call lives.
  self->stream_->OnClosed([self] {
    std::function<void()> unsubscribe;
    {
      MutexLock lock(self->mutex_);
      unsubscribe.swap(self->unsubscribe_);
    }
    if (unsubscribe) unsubscribe();
  });
  auto* call = self->stream_->Open();
  self->Start();
  return call;
}

void EventStream::Start() {
  if (follow_) {
    // Before history is read: an event between the two comes twice and is sent once.
    auto unsubscribe = host_.SubscribeEvents([weak = weak_from_this()](const HostEvent& event) {
      if (const auto stream = weak.lock()) stream->TakeLive(event);
    });
    MutexLock lock(mutex_);
    unsubscribe_ = std::move(unsubscribe);
  }
  ReadPage(last_);
}

void EventStream::ReadPage(uint32_t last) {
  uint64_t after = 0;
  {
    MutexLock lock(mutex_);
    if (caught_up_ || reading_) return;
    reading_ = true;
    after = last_id_;
  }
  const uint32_t limit = last == 0 ? kHistoryPage : last;
  host_.ReadEvents(after, last, limit,
                   [weak = weak_from_this(), limit](absl::StatusOr<std::vector<HostEvent>> page) {
                     const auto stream = weak.lock();
                     if (stream == nullptr) return;
                     if (!page.ok()) return stream->stream_->Close(GrpcStatus(page.status()));
                     stream->TakePage(*page, limit);
                   });
}

void EventStream::TakePage(const std::vector<HostEvent>& page, uint32_t asked) {
  bool all_pushed = true;
  for (const HostEvent& event : page) {
    all_pushed = Push(EventMessage(event));
    if (!all_pushed) break;
  }
  std::deque<admin::v1::Event> live;
  bool caught_up = false;
  {
    MutexLock lock(mutex_);
    reading_ = false;
    // What fell out of live_ has been written to the history by now, so a further page has it. A
    // page of the last so many ends with the newest.
    const bool is_end = all_pushed && (page.size() < asked || last_ == asked);
    if (is_end && !std::exchange(live_dropped_, false)) {
      caught_up_ = caught_up = true;
      live.swap(live_);
    }
  }
  if (caught_up) {
    for (admin::v1::Event& event : live) PushLive(std::move(event));
    if (!follow_) stream_->Close(grpc::Status::OK);
  } else if (stream_->empty()) {
    // The client has taken all of it already; otherwise OnRoom goes on.
    ReadPage(0);
  }
}

bool EventStream::Push(admin::v1::Event event) {
  const uint64_t id = event.id();
  {
    MutexLock lock(mutex_);
    if (id <= last_id_) return true;
  }
  // Without the lock: gRPC may report room from inside.
  if (stream_->Push(std::move(event)) == MessageStream<admin::v1::Event>::Pushed::kFull) {
    return false;
  }
  MutexLock lock(mutex_);
  last_id_ = id;
  return true;
}

void EventStream::PushLive(admin::v1::Event event) {
  if (Push(std::move(event))) return;
  stream_->Cut(
      grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                   absl::StrCat("the reader is ", kQueue, " events behind; call again with ",
                                "after_id of the last event received")));
}

void EventStream::TakeLive(const HostEvent& event) {
  {
    MutexLock lock(mutex_);
    if (!caught_up_) {
      live_.push_back(EventMessage(event));
      if (live_.size() > kQueue) {
        live_.pop_front();
        live_dropped_ = true;
      }
      return;
    }
  }
  PushLive(EventMessage(event));
}

}  // namespace cohost::supervisor
